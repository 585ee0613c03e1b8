/**
 * Where things are on the timeline: pure functions of times and pixels.
 *
 * @typedef {{ holder: string, epoch?: string, from: number, isFromSeen: boolean, to?: number, end?: string, renewedAt?: number, drainFrom?: number }} Band
 * @typedef {{ key: string, holder: string, standbys: string[], renewedAt: number, durationMs: number, isEnding: boolean, bands: Band[], note: string, lanes?: string[], overlaps?: { from: number, to: number }[] }} Lease
 * @typedef {{ start: number, end: number, width: number, now: number }} Scale Times in milliseconds, width in pixels.
 * @typedef {{ kind: 'term' | 'drain' | 'wedge' | 'valid' | 'expired' | 'gap' | 'arrow' | 'overlap', x: number, width: number, holder: string, from: number, to: number, isFromSeen?: boolean, epoch?: string }} Part
 */

/** The shortest and the longest time that the view shows. */
export const SHORTEST_MS = 100
export const LONGEST_MS = 30 * 86_400_000

/** The share of the view to the right of now, for the time until which a lease is valid. */
const AHEAD = 0.12

/**
 * The span of times in the view.
 * @param {{ spanMs: number, endAt: number | undefined }} view `endAt` undefined: it follows now.
 * @param {number} now
 * @param {number} width
 * @returns {Scale}
 */
export function scaleOf({ spanMs, endAt }, now, width) {
  const end = endAt ?? now + spanMs * AHEAD
  return { start: end - spanMs, end, width, now }
}

/**
 * The place of a time in pixels from the left.
 * @param {number} time
 * @param {Scale} scale
 */
export function xOf(time, { start, end, width }) {
  return ((time - start) / (end - start)) * width
}

/**
 * What to draw of one lease, in the order of drawing.
 * @param {Lease} lease
 * @param {Scale} scale
 * @returns {Part[]}
 */
export function partsOf(lease, scale) {
  /** @type {Part[]} */
  const parts = []
  lease.bands.forEach((band, index) => {
    const before = lease.bands[index - 1]
    parts.push(...linksBefore(band, before, scale), ...partsOfBand(band, lease, scale))
  })
  for (const { from, to } of lease.overlaps ?? [])
    parts.push(...shown(partOf('overlap', '', { from, to }, scale), scale))
  return parts
}

/**
 * The gap or the arrow between two terms.
 * @param {Band} band
 * @param {Band | undefined} before
 * @param {Scale} scale
 */
function linksBefore(band, before, scale) {
  if (before?.to === undefined) return []
  if (before.end === 'transferred')
    return isSeen(before.to, before.to, scale)
      ? [partOf('arrow', band.holder, { from: before.to, to: before.to }, scale)]
      : []
  return shown(partOf('gap', '', { from: before.to, to: band.from }, scale), scale)
}

/**
 * @param {Band} band
 * @param {Lease} lease
 * @param {Scale} scale
 */
function partsOfBand(band, lease, scale) {
  const { holder } = band
  const validUntil = lease.renewedAt + lease.durationMs
  const to = band.to ?? (lease.durationMs > 0 ? Math.min(scale.now, validUntil) : scale.now)
  // Of a term that was lost, the time after the last renewal is no proof that its holder ran.
  const heldUntil = Math.max(band.from, Math.min(band.renewedAt ?? to, to))
  const term = { ...partOf('term', holder, { from: band.from, to: heldUntil }, scale), isFromSeen: band.isFromSeen }
  const parts = shown(band.epoch === undefined ? term : { ...term, epoch: band.epoch }, scale)
  if (band.drainFrom !== undefined)
    parts.push(...shown(partOf('drain', holder, { from: band.drainFrom, to: heldUntil }, scale), scale))
  if (band.to !== undefined) {
    // Until then nobody else could lead.
    const kind = isWedged(band) ? 'wedge' : 'valid'
    return [...parts, ...shown(partOf(kind, holder, { from: heldUntil, to }, scale), scale)]
  }
  if (lease.durationMs === 0) return parts
  // Until when the others have to respect the term. It runs down between renewals.
  const overdue = band.drainFrom === undefined ? 'expired' : 'wedge'
  const rest =
    validUntil > scale.now
      ? partOf('valid', holder, { from: scale.now, to: validUntil }, scale)
      : partOf(overdue, holder, { from: validUntil, to: scale.now }, scale)
  return [...parts, ...shown(rest, scale)]
}

/**
 * Whether a term began to drain and did not end before its lease was lost: a task ignored its signal, or the process died.
 * @param {Pick<Band, 'drainFrom' | 'end'>} band
 */
export function isWedged({ drainFrom, end }) {
  return drainFrom !== undefined && end === 'lost'
}

/**
 * @param {Part['kind']} kind
 * @param {string} holder
 * @param {{ from: number, to: number }} times
 * @param {Scale} scale
 * @returns {Part}
 */
function partOf(kind, holder, { from, to }, scale) {
  // Off the view, the exact place does not matter, and canvases do not draw at 1e9 pixels.
  const x = Math.max(-10, xOf(from, scale))
  return { kind, holder, x, width: Math.min(scale.width + 10, xOf(to, scale)) - x, from, to }
}

/**
 * @param {Part} part
 * @param {Scale} scale
 */
function shown(part, scale) {
  return part.to > part.from && isSeen(part.from, part.to, scale) ? [part] : []
}

/**
 * @param {number} from
 * @param {number} to
 * @param {Scale} scale
 */
function isSeen(from, to, { start, end }) {
  return to >= start && from <= end
}

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000,
]

/** The least distance of two ticks in pixels. */
const TICK_PX = 90

/**
 * The times to mark on the axis.
 * @param {Scale} scale
 */
export function ticksOf({ start, end, width }) {
  const least = ((end - start) / Math.max(width, 1)) * TICK_PX
  const stepMs = STEPS_MS.find((step) => step >= least) ?? 2 * 604_800_000
  const ticks = []
  for (let time = Math.ceil(start / stepMs) * stepMs; time <= end; time += stepMs)
    ticks.push({ time, text: clockText(time, stepMs) })
  return ticks
}

/**
 * A time of the day as precise as the step, or a date.
 * @param {number} time
 * @param {number} stepMs
 */
export function clockText(time, stepMs) {
  const date = new Date(time)
  const two = (/** @type {number} */ value) => String(value).padStart(2, '0')
  if (stepMs >= 86_400_000) return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`
  if (stepMs >= 60_000) return minutes
  const seconds = `${minutes}:${two(date.getSeconds())}`
  return stepMs >= 1000 ? seconds : `${seconds}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
]

/**
 * A duration in at most two units, as in `2m10s`, `1.2s` or `12ms`.
 * @param {number} ms
 */
export function durationText(ms) {
  const whole = Math.max(0, Math.round(ms))
  if (whole < 1000) return `${whole}ms`
  if (whole < 10_000) return `${Math.round(whole / 100) / 10}s`
  const index = UNITS.findIndex(([, unitMs]) => whole >= Number(unitMs))
  const [unit, unitMs] = UNITS[index] ?? ['s', 1000]
  const [next, nextMs] = UNITS[index + 1] ?? ['', Infinity]
  const rest = Math.floor((whole % Number(unitMs)) / Number(nextMs))
  return `${Math.floor(whole / Number(unitMs))}${unit}${rest === 0 ? '' : `${rest}${next}`}`
}

/**
 * A number that is the same for the same holder, to choose a colour by.
 * @param {string} holder
 */
export function colourIndex(holder) {
  let hash = 0
  for (let index = 0; index < holder.length; index += 1) hash = (hash * 31 + holder.charCodeAt(index)) >>> 0
  return hash
}
