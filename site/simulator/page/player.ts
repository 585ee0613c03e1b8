import { durationText } from '../../../packages/cli/page/layout.js'
import { defineTimelines, TenureTerms } from '../../../packages/cli/page/timeline.js'
import type { LogLine, Run } from '../engine/run.ts'
import { find, withText } from './elements.ts'
import { BEGINNING, leaseOf } from './lease-of.ts'

/** A tab in the background gets no frames. What it missed does not happen at once. */
const LONGEST_FRAME_MS = 100

/** The time that the bands show, at first. */
const SPAN_MS = 30_000

defineTimelines()

/**
 * Shows a run, and lets its time pass as fast as the reader wants.
 *
 * What the reader asks for waits until the present frame has ended: a run is changed only between two whole milliseconds.
 */
export class Player {
  readonly #terms = find('terms', TenureTerms)
  readonly #onShow: () => void
  #last: Promise<void> = Promise.resolve()
  #run: Run
  #view = { spanMs: SPAN_MS, endAt: undefined }
  #isRunning = false
  #shownLines = 0

  constructor(run: Run, onShow: () => void) {
    this.#run = run
    this.#onShow = onShow
    this.#onFrame(performance.now())
  }

  /** Calls `turn` as soon as no frame is under way. */
  inTurn(turn: () => void | Promise<void>): void {
    this.#last = this.#last.then(turn)
  }

  /** Shows another run from its beginning. */
  async open(run: Run, runs: boolean): Promise<void> {
    this.#run = run
    this.#shownLines = 0
    find('log').replaceChildren()
    find('lanes').replaceChildren()
    await this.setRunning(runs)
  }

  async toggle(): Promise<void> {
    await this.setRunning(!this.#isRunning)
  }

  async setRunning(runs: boolean): Promise<void> {
    this.#isRunning = runs
    find('run').textContent = runs ? 'Stop' : 'Run'
    await this.#showAddress()
    this.show()
  }

  async step(): Promise<void> {
    await this.#run.step()
    await this.setRunning(false)
  }

  zoom(factor: number): void {
    this.#view.spanMs *= factor
    this.show()
  }

  show(): void {
    const { log, names, now } = this.#run
    this.#terms.lease = leaseOf(this.#run)
    this.#terms.draw(BEGINNING + now, this.#view)
    const lanes = find('lanes')
    for (const name of names.slice(lanes.childElementCount)) lanes.append(withText('li', name))
    find('time').textContent = secondsText(now)
    this.#showVerdict()
    const list = find('log')
    for (const line of log.slice(this.#shownLines)) list.append(itemOf(line))
    const view = find('log-view')
    if (this.#shownLines < log.length) view.scrollTop = view.scrollHeight
    this.#shownLines = log.length
    this.#onShow()
  }

  #showVerdict(): void {
    const { overlaps, terms } = this.#run
    const longest = Math.max(0, ...overlaps.map(({ from, to }) => to - from))
    const count = terms.length === 1 ? '1 term' : `${terms.length} terms`
    // A screen reader reads every change, so the time follows at the end.
    const time = this.#isRunning ? '' : ` for ${durationText(longest)}`
    const text = overlaps.length === 0 ? `${count}. No two overlap.` : `${count}. Two of them overlap${time}.`
    const verdict = find('verdict')
    verdict.className = overlaps.length === 0 ? '' : 'problem'
    if (verdict.textContent !== text) verdict.textContent = text
    this.#terms.querySelector('canvas')?.setAttribute('aria-label', `Bands of terms. ${text}`)
  }

  /** The address follows when time stands still. */
  async #showAddress(): Promise<void> {
    const address = `#${await this.#run.address()}`
    find('address', HTMLAnchorElement).href = address
    if (!this.#isRunning) history.replaceState(null, '', address)
  }

  #onFrame(before: number): void {
    requestAnimationFrame((now) => {
      this.inTurn(() => this.#pass(now - before))
      this.inTurn(() => this.#onFrame(now))
    })
  }

  async #pass(elapsedMs: number): Promise<void> {
    if (!this.#isRunning) return
    const speed = Number(find('speed', HTMLSelectElement).value)
    await this.#run.advance(Math.round(Math.min(elapsedMs, LONGEST_FRAME_MS) * speed))
    this.show()
  }
}

function itemOf({ at, who, what, isProblem }: LogLine): HTMLElement {
  const item = withText('li', `${secondsText(at)} ${who} ${what}`)
  if (isProblem) item.className = 'problem'
  return item
}

function secondsText(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`
}
