const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** How kubectl writes a duration: `42s`, `3m20s`, `5h`, `2d4h`. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / SECOND)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.trunc(ms / MINUTE)
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.trunc(ms / HOUR)
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.trunc(hours / 24)
  if (days < 8) return withRest(days, 'd', hours % 24, 'h')
  if (days < 730) return `${days}d`
  const years = Math.trunc(days / 365)
  return years < 8 ? withRest(years, 'y', days % 365, 'd') : `${years}y`
}

function withRest(count: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${count}${unit}` : `${count}${unit}${rest}${restUnit}`
}

/** The age of something of which the API says when it was made. */
export function ageOf(timestamp: unknown, now: number): string {
  if (typeof timestamp !== 'string' || timestamp === '') return '<unknown>'
  return humanDuration(now - Date.parse(timestamp))
}
