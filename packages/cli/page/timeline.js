import { contextOf, drawAxis, drawLease, inkOf } from './draw.js'
import { LONGEST_MS, scaleOf, SHORTEST_MS } from './layout.js'

/** The height of a lease in the list, as in the style sheet. */
const ROW_PX = 26

/** The height of the axis below the bands. */
const AXIS_PX = 22

/** The most lanes of the terms of one lease. */
const MOST_LANES = 12

/** The view of time that all timelines of the page share. */
class TimeView {
  spanMs = 60_000
  /** @type {number | undefined} Undefined: the view follows now. */
  endAt

  /** @param {number} factor */
  zoom(factor) {
    this.spanMs = Math.min(Math.max(this.spanMs * factor, SHORTEST_MS), LONGEST_MS)
  }

  /**
   * @param {number} share of the span
   * @param {number} now
   */
  move(share, now) {
    this.endAt = scaleOf(this, now, 1).end + share * this.spanMs
  }

  follow() {
    this.endAt = undefined
  }
}

/** One row of bands for each lease that is scrolled into view. */
export class TenureTimeline extends HTMLElement {
  /** @type {readonly import('./layout.js').Lease[]} */
  #leases = []
  view = new TimeView()
  isDirty = true
  #drawnAt = 0
  /** @type {ReturnType<typeof inkOf> | undefined} */
  #ink
  #width = 0
  #height = 0

  connectedCallback() {
    const canvas = this.canvas
    new ResizeObserver(() => {
      this.#width = canvas.clientWidth
      this.#height = canvas.clientHeight
      this.isDirty = true
    }).observe(canvas)
    this.list.addEventListener('scroll', () => (this.isDirty = true), { passive: true })
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.#ink = undefined
      this.isDirty = true
    })
  }

  /** In the order of the list. */
  get leases() {
    return this.#leases
  }

  set leases(leases) {
    if (leases.length !== this.#leases.length) this.style.height = `${leases.length * ROW_PX + AXIS_PX + 2}px`
    this.#leases = leases
    this.isDirty = true
  }

  get canvas() {
    return /** @type {HTMLCanvasElement} */ (this.querySelector('canvas'))
  }

  get list() {
    return /** @type {HTMLElement} */ (this.querySelector('.rows'))
  }

  /**
   * Draws what is in view, if anything can have moved by half a pixel.
   * @param {number} now
   */
  draw(now) {
    const pixelMs = this.view.spanMs / Math.max(this.#width, 1)
    const hasMoved = Math.abs(now - this.#drawnAt) >= pixelMs / 2
    if (this.#width === 0 || !(this.isDirty || hasMoved)) return
    const wasNews = this.isDirty
    this.isDirty = false
    this.#drawnAt = now
    this.#ink ??= inkOf(this)
    const scale = scaleOf(this.view, now, this.#width)
    const context = contextOf(this.canvas, this.#width, this.#height)
    drawAxis(context, scale, { height: this.#height, ink: this.#ink })
    this.#drawRows(context, scale, this.#ink)
    if (wasNews) this.dispatchEvent(new CustomEvent('drawn'))
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import('./layout.js').Scale} scale
   * @param {ReturnType<typeof inkOf>} ink
   */
  #drawRows(context, scale, ink) {
    const scrolled = this.list.scrollTop
    const room = this.#height - AXIS_PX
    context.save()
    context.beginPath()
    context.rect(0, 0, this.#width, room)
    context.clip()
    const first = Math.floor(scrolled / ROW_PX)
    const last = Math.min(this.leases.length - 1, Math.floor((scrolled + room) / ROW_PX))
    for (let index = first; index <= last; index += 1) {
      const lease = this.leases[index]
      if (lease !== undefined)
        drawLease(context, lease, { scale, ink, top: index * ROW_PX - scrolled, height: ROW_PX, laneOf: () => 0 })
    }
    context.restore()
  }
}

/** The terms of one lease: a lane for each replica. */
export class TenureTerms extends HTMLElement {
  /** @type {import('./layout.js').Lease | undefined} */
  lease

  /**
   * @param {number} now
   * @param {Pick<TimeView, 'spanMs' | 'endAt'>} view
   */
  draw(now, view) {
    const { lease } = this
    if (lease === undefined) return
    const canvas = /** @type {HTMLCanvasElement} */ (this.querySelector('canvas'))
    const lanes = lanesOf(lease)
    const height = Math.max(lanes.length, 1) * ROW_PX + AXIS_PX
    if (this.#height !== height) {
      this.#height = height
      canvas.height = height
      canvas.style.height = `${height}px`
    }
    const ink = inkOf(this)
    const width = canvas.clientWidth
    const scale = scaleOf(view, now, width)
    const context = contextOf(canvas, width, height)
    drawAxis(context, scale, { height, ink })
    drawLease(context, lease, {
      scale,
      ink,
      top: 0,
      height: ROW_PX,
      laneOf: (holder) => Math.max(0, lanes.indexOf(holder)),
    })
  }

  #height = 0
}

/**
 * The lanes that a lease names, or the replicas that led last, the latest in the lowest lane.
 * @param {import('./layout.js').Lease} lease
 */
function lanesOf({ bands, lanes }) {
  if (lanes !== undefined) return lanes
  const latest = new Set(bands.map(({ holder }) => holder).toReversed())
  return [...latest].slice(0, MOST_LANES).toReversed()
}

/** Makes the elements of the page. */
export function defineTimelines() {
  customElements.define('tenure-timeline', TenureTimeline)
  customElements.define('tenure-terms', TenureTerms)
}
