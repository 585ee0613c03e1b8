import { Controller, type Term } from '@tenure/core'
import { StaleEpochError, type SimulatedWorld, type SimulationOptions } from '../src/index.ts'

const CHILDREN = ['child-0', 'child-1', 'child-2'] as const

type Child = (typeof CHILDREN)[number]

/** Every child exists. */
export const DESIRED: NonNullable<SimulationOptions['desired']> = {
  isReached: (values) => CHILDREN.every((key) => values.get(key) === 'here'),
}

/** As it should be: creates the children that are not there, with the fence and the version that it has read, also in a later term. */
export class Reconciler extends Controller {
  readonly name = 'reconciler'
  protected readonly world: SimulatedWorld

  constructor(world: SimulatedWorld) {
    super()
    this.world = world
  }

  async run(term: Term): Promise<void> {
    await this.untilDone(term, () => this.begin(term))
    for (;;) {
      await this.untilDone(term, () => this.reconcile(term))
      await term.sleep(2000)
    }
  }

  protected async begin(term: Term): Promise<void> {
    await this.world.raiseFence(term.epoch)
  }

  protected async reconcile(term: Term): Promise<void> {
    for (const key of CHILDREN) await this.set(term, key, 'here')
  }

  protected async set(term: Term, key: Child, value: unknown): Promise<void> {
    const entry = await this.world.get(key)
    term.assertHeld()
    if (entry?.value === value) return
    await this.world.put(key, value, { epoch: term.epoch, ifVersion: entry?.version ?? 0 })
  }

  protected async untilDone(term: Term, act: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await act()
        return
      } catch (error) {
        if (error instanceof StaleEpochError) throw error
        await term.sleep(300)
      }
    }
  }
}

/** The defect: it never creates the last child. */
export class NeverDone extends Reconciler {
  protected override async reconcile(term: Term): Promise<void> {
    for (const key of CHILDREN.slice(0, 2)) await this.set(term, key, 'here')
  }
}

/** The defect: it deletes a child that it has created, and creates it again. */
export class Oscillating extends Reconciler {
  protected override async reconcile(term: Term): Promise<void> {
    await super.reconcile(term)
    await term.sleep(10_000)
    await this.set(term, 'child-1', undefined)
  }
}

/** The defect: every term begins with an empty store, as a migration that was to run only once. */
export class Recreating extends Reconciler {
  protected override async begin(term: Term): Promise<void> {
    await super.begin(term)
    for (const key of CHILDREN) await this.set(term, key, undefined)
  }
}

/** The defect: a term takes what it finds for garbage of an earlier term. It creates only the children that it began with. */
export class CleaningUp extends Reconciler {
  #isFirst = false

  protected override async begin(term: Term): Promise<void> {
    await super.begin(term)
    this.#isFirst = (await this.world.get('child-0')) === undefined
  }

  protected override async reconcile(term: Term): Promise<void> {
    if (this.#isFirst) await super.reconcile(term)
    else await this.set(term, 'child-2', undefined)
  }
}

/** As it should be: dispatches one job after the other, from the number on that its cache shows when it is synced. */
export class Dispatcher extends Reconciler {
  #next = 0

  protected override async begin(term: Term): Promise<void> {
    await super.begin(term)
    await this.sync(term)
    this.#next = Number(this.world.cache.get('next')?.value ?? 0)
  }

  protected override async reconcile(term: Term): Promise<void> {
    term.assertHeld()
    await this.world.put('job', this.#next, { epoch: term.epoch })
    await this.world.put('next', this.#next + 1, { epoch: term.epoch })
    this.#next += 1
  }

  protected async sync(term: Term): Promise<void> {
    await this.world.cache.synced(term)
  }
}

/** The defect: it does not wait for its cache, and dispatches jobs of its predecessor again. */
export class StaleDispatcher extends Dispatcher {
  protected override async sync(): Promise<void> {}
}
