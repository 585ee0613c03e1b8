import { Controller, type Term } from '@tenure/core'
import { StaleEpochError, StaleVersionError, type SimulatedWorld } from '../src/index.ts'

/** Adds an item to a list every now and then, as the one leader that may. */
abstract class Ledger extends Controller {
  readonly name = 'ledger'
  protected readonly world: SimulatedWorld

  constructor(world: SimulatedWorld) {
    super()
    this.world = world
  }

  async run(term: Term): Promise<void> {
    await this.prepare(term)
    for (;;) {
      await this.add(term).catch((error: unknown) => this.#goOnUnlessRefused(term, error))
      await term.sleep(500 + 1500 * this.world.random())
    }
  }

  protected prepare(_term: Term): Promise<void> {
    return Promise.resolve()
  }

  protected abstract add(term: Term): Promise<unknown>

  /** A request that failed for another reason is tried again: with the version that is then stored. */
  #goOnUnlessRefused(term: Term, error: unknown): void {
    if (error instanceof StaleEpochError) term.stepDown()
    else if (!(error instanceof StaleVersionError)) term.signal.throwIfAborted()
  }

  protected async items(): Promise<{ readonly items: readonly unknown[]; readonly version: number }> {
    const entry = await this.world.get('ledger')
    return { items: (entry?.value ?? []) as readonly unknown[], version: entry?.version ?? 0 }
  }
}

/** As it should be: raises the fence first, writes with its epoch, and only over the version that it has read. */
export class FencedLedger extends Ledger {
  protected override async prepare(term: Term): Promise<void> {
    for (;;) {
      try {
        await this.world.raiseFence(term.epoch)
        return
      } catch (error) {
        if (error instanceof StaleEpochError) throw error
        await term.sleep(200)
      }
    }
  }

  protected override async add(term: Term): Promise<void> {
    const { items, version } = await this.items()
    term.assertHeld()
    await this.world.put('ledger', [...items.slice(-5), term.epoch], { epoch: term.epoch, ifVersion: version })
  }
}

/** The race: reads, changes and writes with nothing that would notice another term in between. */
export class UnfencedLedger extends Ledger {
  protected override async add(term: Term): Promise<void> {
    const { items } = await this.items()
    await this.world.put('ledger', [...items.slice(-5), term.epoch])
  }
}

/** The race: a loop that nobody tracks and that asks nobody whether to go on. */
export class DetachedLoop extends Controller {
  readonly name = 'detached'
  readonly #world: SimulatedWorld

  constructor(world: SimulatedWorld) {
    super()
    this.#world = world
  }

  async run(term: Term): Promise<void> {
    void this.#loop()
    await term.sleep(1e12)
  }

  async #loop(): Promise<void> {
    for (;;) {
      await this.#world.get('anything').catch(() => {})
      await new Promise<void>((resolve) => this.#world.clock.setTimer(3000, resolve))
    }
  }
}

/** The race: sends a last write when its signal aborts, and does not wait for the answer. */
export class WriteAfterSignal extends Controller {
  readonly name = 'status'
  readonly #world: SimulatedWorld

  constructor(world: SimulatedWorld) {
    super()
    this.#world = world
  }

  async run(term: Term): Promise<void> {
    term.signal.addEventListener('abort', () => void this.#world.put('status', 'gone').catch(() => {}))
    await this.#world.put('status', 'here').catch(() => {})
    await term.sleep(1e12)
  }
}

const KEYS = ['ledger', 'status', 'audit'] as const

/** Reads from the cache of its process, and writes several keys, one of them as its term ends. Some terms write nothing and end at once. */
export class CachedLedger extends FencedLedger {
  #isSilent = false

  protected override async prepare(term: Term): Promise<void> {
    const { cache, random } = this.world
    this.#isSilent = random() < 0.3
    await cache.synced(term)
    for (const key of KEYS) cache.get(key)
    if (this.#isSilent) term.stepDown()
    else term.defer(() => this.#write(term).catch(() => {}))
    await super.prepare(term)
  }

  protected override async add(term: Term): Promise<void> {
    for (const key of KEYS) this.world.cache.get(key)
    if (!this.#isSilent) await this.#write(term)
  }

  async #write(term: Term): Promise<void> {
    const { cache, random } = this.world
    const key = KEYS[Math.floor(random() * KEYS.length)] ?? 'ledger'
    const ifVersion = cache.get(key)?.version ?? 0
    await this.world.put(key, String(term.epoch), { epoch: term.epoch, ifVersion })
  }
}
