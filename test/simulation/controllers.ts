import { Controller, type Term } from '@tenure/core'
import { StaleEpochError, type Entry, type SimulatedWorld, StaleVersionError } from '@tenure/simulator'

/** A sound controller: it updates a list in the database from time to time, with the fence and the version that it has read. */
export class Ledger extends Controller {
  readonly name = 'ledger'
  protected readonly world: SimulatedWorld
  readonly #pauseMs: number

  constructor(world: SimulatedWorld, pauseMs: number) {
    super()
    this.world = world
    this.#pauseMs = pauseMs
  }

  async run(term: Term): Promise<void> {
    await this.#untilDone(term, () => this.world.raiseFence(term.epoch))
    for (;;) {
      await this.#untilDone(term, () => this.add(term))
      await term.sleep(this.#pauseMs * (0.5 + this.world.random()))
    }
  }

  protected async add(term: Term): Promise<void> {
    const entry = await this.read()
    const items = (entry?.value ?? []) as readonly unknown[]
    term.assertHeld()
    await this.world.put('ledger', [...items.slice(-5), String(term.epoch)], {
      epoch: term.epoch,
      ifVersion: entry?.version ?? 0,
    })
  }

  protected read(): Promise<Entry | undefined> {
    return this.world.get('ledger')
  }

  async #untilDone(term: Term, act: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await act()
        return
      } catch (error) {
        if (error instanceof StaleEpochError) throw error
        if (!(error instanceof StaleVersionError)) await term.sleep(300)
      }
    }
  }
}

/** A ledger that reads from the cache of its process, and writes once more as its term ends. Some of its terms only read. */
export class CachedLedger extends Ledger {
  override async run(term: Term): Promise<void> {
    await this.world.cache.synced(term)
    await this.read()
    if (this.world.random() < 0.7) {
      term.defer(() => this.add(term).catch(() => {}))
      return super.run(term)
    }
    await term.every(1000, () => this.read())
  }

  protected override async read(): Promise<Entry | undefined> {
    return this.world.cache.get('ledger')
  }
}

/** How a task reacts to the abort. */
const FATES = ['quick', 'quick', 'slow', 'slow', 'deaf', 'stuck'] as const

type Fate = (typeof FATES)[number]

/** The tasks that end. Without them a term is wedged, and its lease expires. */
export const ENDING: readonly Fate[] = FATES.filter((fate) => fate !== 'stuck')

/** A controller whose task ends immediately, after a while, only at the hard abort, or never. Each term selects one. `run()` fails at times. */
export class Chore extends Controller {
  readonly name = 'chore'
  readonly #world: SimulatedWorld
  readonly #fates: readonly Fate[]

  constructor(world: SimulatedWorld, fates: readonly Fate[] = FATES) {
    super()
    this.#world = world
    this.#fates = fates
  }

  async run(term: Term): Promise<void> {
    const { random } = this.#world
    const fate = this.#fates[Math.floor(random() * this.#fates.length)] ?? 'quick'
    term.defer(() => this.#pause(random() * 20, AbortSignal.any([])))
    void term.spawn(fate, () => this.#work(term, fate), { finishOnDrain: true }).catch(() => {})
    await term.sleep(random() * 3_600_000)
    throw new Error('the chore failed')
  }

  async #work(term: Term, fate: Fate): Promise<void> {
    await aborted(fate === 'deaf' ? term.hardSignal : term.signal)
    if (fate === 'stuck') await new Promise<never>(() => {})
    if (fate === 'slow') await this.#pause(this.#world.random() * 30_000, term.hardSignal)
  }

  /** Leaves no timer behind when the signal aborts. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = this.#world.clock.setTimer(ms, resolve)
    await Promise.race([promise, aborted(signal)])
    timer.cancel()
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
