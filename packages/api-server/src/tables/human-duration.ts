const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

const UNIT_MS = { s: SECOND, m: MINUTE, h: HOUR, d: DAY, y: YEAR }
type Unit = keyof typeof UNIT_MS

/** The units of a duration below each limit, as in `duration.HumanDuration` of apimachinery. */
const FORMATS: readonly { belowMs: number; units: readonly [Unit, Unit?] }[] = [
  { belowMs: 2 * MINUTE, units: ['s'] },
  { belowMs: 10 * MINUTE, units: ['m', 's'] },
  { belowMs: 3 * HOUR, units: ['m'] },
  { belowMs: 8 * HOUR, units: ['h', 'm'] },
  { belowMs: 2 * DAY, units: ['h'] },
  { belowMs: 8 * DAY, units: ['d', 'h'] },
  { belowMs: 2 * YEAR, units: ['d'] },
  { belowMs: 8 * YEAR, units: ['y', 'd'] },
]

/** How kubectl writes a duration: `42s`, `3m20s`, `5h`, `2d4h`. */
export function humanDuration(ms: number): string {
  if (ms < 0) return ms > -2 * SECOND ? '0s' : '<invalid>'
  const [unit, smallerUnit] = FORMATS.find(({ belowMs }) => ms < belowMs)?.units ?? ['y']
  const whole = `${Math.trunc(ms / UNIT_MS[unit])}${unit}`
  if (smallerUnit === undefined) return whole
  const rest = Math.trunc((ms % UNIT_MS[unit]) / UNIT_MS[smallerUnit])
  return rest === 0 ? whole : `${whole}${rest}${smallerUnit}`
}

/** The time since a timestamp of the API; `<unknown>` without one. */
export function ageOf(timestamp: unknown, now: number): string {
  if (typeof timestamp !== 'string' || timestamp === '') return '<unknown>'
  return humanDuration(now - Date.parse(timestamp))
}
