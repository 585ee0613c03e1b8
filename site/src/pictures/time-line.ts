import { card, line, round, text } from './svg.ts'

/** A stretch of time in a lane. */
interface Bar {
  readonly from: number
  readonly to: number
  readonly label: string
  readonly look: 'go' | 'wait' | 'hard' | 'late' | 'none'
}

/** What happens to one thing over time. */
interface Lane {
  readonly name: string
  readonly bars: readonly Bar[]
}

/** A moment that all lanes share. */
interface Moment {
  readonly at: number
  readonly label: string
}

interface MomentPlace {
  readonly x: (at: number) => number
  readonly y: number
  readonly bottom: number
}

/** A time line to scale, in milliseconds. */
export interface TimeLine {
  readonly title: string
  readonly lengthMs: number
  readonly moments: readonly Moment[]
  readonly lanes: readonly Lane[]
  readonly notes: readonly string[]
}

const LEFT = 130
const RIGHT = 30
const WIDTH = 980
const LANE = 34
const HEAD = 44

/** Draws a time line. Labels of moments take as many rows as they need, so that none covers another. */
export function drawTimeLine({ title, lengthMs, moments, lanes, notes }: TimeLine): string {
  const x = (at: number) => LEFT + (at / lengthMs) * (WIDTH - LEFT - RIGHT)
  const top = HEAD + moments.length * 18 + 8
  const bottom = top + lanes.length * LANE
  const body = [
    text(title, { x: 20, y: 28, look: 'head' }),
    ...lanes.flatMap((lane, index) => drawLane(lane, top + index * LANE, x)),
    ...moments.map((moment, row) => drawMoment(moment, { x, y: HEAD + row * 18, bottom })),
    ...moments.map((moment, row) => labelMoment(moment, { x, y: HEAD + row * 18, bottom })),
    ...notes.map((note, row) => text(note, { x: 20, y: bottom + 24 + row * 18, look: 'small' })),
  ]
  return card(title, WIDTH, bottom + 20 + notes.length * 18, body)
}

function drawLane({ name, bars }: Lane, y: number, x: (at: number) => number): readonly string[] {
  return [
    line('rule', { x1: 20, y1: y, x2: WIDTH - 20, y2: y }),
    text(name, { x: 20, y: y + 22 }),
    ...bars.flatMap((bar) => drawBar(bar, y, x)),
  ]
}

function drawBar({ from, to, label, look }: Bar, y: number, x: (at: number) => number): readonly string[] {
  const width = round(x(to) - x(from))
  const fits = label.length * 6.2 < width
  return [
    `<rect class="${look}" x="${round(x(from))}" y="${y + 5}" width="${width}" height="${LANE - 10}" rx="3"/>`,
    fits
      ? text(label, { x: (x(from) + x(to)) / 2, y: y + 21, anchor: 'middle', look: 'onbar' })
      : text(label, { x: x(from) - 6, y: y + 21, anchor: 'end', look: 'onbar' }),
  ]
}

function drawMoment({ at }: Moment, { x, y, bottom }: MomentPlace): string {
  return line('mark', { x1: x(at), y1: y + 2, x2: x(at), y2: bottom })
}

function labelMoment({ at, label }: Moment, { x, y }: MomentPlace): string {
  const isRight = x(at) > WIDTH * 0.6
  const anchor = isRight ? 'end' : 'start'
  return text(label, { x: x(at) + (isRight ? -6 : 6), y: y + 12, anchor, look: 'small halo' })
}
