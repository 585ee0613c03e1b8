const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const

/** A duration as kubectl prints ages: at most two units, as in `5d3h`, `2m10s`, `9s` or `12ms`. */
export function durationText(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  if (whole < 1000) return `${whole}ms`
  const index = UNITS.findIndex(([, unitMs]) => whole >= unitMs)
  const [unit, unitMs] = UNITS[index] ?? ['s', 1000]
  const [next, nextMs] = UNITS[index + 1] ?? ['', Infinity]
  const rest = Math.floor((whole % unitMs) / nextMs)
  return `${Math.floor(whole / unitMs)}${unit}${rest === 0 ? '' : `${rest}${next}`}`
}
