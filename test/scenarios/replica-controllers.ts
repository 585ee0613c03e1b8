import { setTimeout as sleep } from 'node:timers/promises'
import { CoordinationV1Api } from '@kubernetes/client-node'
import { Counter } from 'prom-client'
import { Controller, gated, loadKubeConfig, metrics, type Term } from 'tenure'
import { report } from './replica-report.ts'
import type { ControllerSetup } from './replica-setup.ts'

/** Builds the controller of a setup. */
export function createController(setup: ControllerSetup): Controller {
  report({ kind: 'built' })
  switch (setup.kind) {
    case 'loop':
      return new Loop(setup)
    case 'slow-drain':
      return new SlowDrain(setup.drainMs)
    case 'never-ending':
      return new NeverEnding()
    case 'heavy':
      return new Heavy(setup.megabytes)
    case 'leaky':
      return new Leaky(setup.kilobytes)
    case 'caller':
      return new Caller(setup)
    case 'throwing-factory':
      throw new Error(setup.message)
    case 'nameless':
      return new Loop({ name: '' })
    default:
      return setup satisfies never
  }
}

/** Reports when its loop begins and when it has ended completely. */
abstract class Reporting extends Controller {
  override async run(term: Term): Promise<void> {
    const { controller, epoch } = term
    report({ kind: 'loop-began', controller, epoch })
    term.defer(() => report({ kind: 'loop-ended', controller, epoch }))
    await this.work(term)
  }

  protected abstract work(term: Term): Promise<void>
}

type LoopSetup = Extract<ControllerSetup, { kind: 'loop' }>

class Loop extends Reporting {
  override readonly name: string
  readonly #everyMs: number
  readonly #observed: boolean

  constructor({ name = 'loop', everyMs = 20, observed = false }: Omit<LoopSetup, 'kind'> = {}) {
    super()
    this.name = name
    this.#everyMs = everyMs
    this.#observed = observed
  }

  protected override async work(term: Term): Promise<void> {
    const { controller, epoch } = term
    const count = this.#observe(term)
    await term.every(this.#everyMs, () => {
      count()
      report({ kind: 'acted', controller, epoch, isHeld: term.isHeld() })
    })
  }

  /** A health check and a metric of this term, where something serves them. */
  #observe(term: Term): () => void {
    if (!this.#observed) return () => {}
    term.health.register('acts', () => {})
    const acts = new Counter({ name: 'loop_acts_total', help: 'Acts of the loop.', registers: [metrics(term)] })
    return () => acts.inc()
  }
}

class SlowDrain extends Reporting {
  override readonly name = 'slow-drain'
  readonly #drainMs: number

  constructor(drainMs: number) {
    super()
    this.#drainMs = drainMs
  }

  protected override async work(term: Term): Promise<void> {
    await term.spawn('half a migration', async (signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      await sleep(this.#drainMs)
    })
  }
}

class NeverEnding extends Reporting {
  override readonly name = 'never-ending'

  protected override async work(term: Term): Promise<void> {
    term.hardSignal.addEventListener('abort', () => report({ kind: 'hard-aborted' }), { once: true })
    await term.spawn('deaf', () => new Promise<void>(() => {}))
  }
}

class Heavy extends Reporting {
  override readonly name = 'heavy'
  readonly #buffer: Buffer
  readonly #objects: readonly { readonly index: number }[]

  constructor(megabytes: number) {
    super()
    this.#buffer = Buffer.alloc(megabytes * 2 ** 20, 1)
    this.#objects = Array.from({ length: (megabytes * 2 ** 20) / BYTES_PER_OBJECT }, (_, index) => ({ index }))
  }

  protected override async work(term: Term): Promise<void> {
    await term.every(100, () => this.#buffer.fill(this.#objects.length % 256, 0, 1024))
  }
}

/** The approximate size of an object with one field and its array element. */
const BYTES_PER_OBJECT = 24

const keptForEver: string[][] = []

class Leaky extends Reporting {
  override readonly name = 'leaky'

  constructor(kilobytes: number) {
    super()
    keptForEver.push(Array.from({ length: kilobytes }, (_, index) => `${index}`.padStart(1000, String(Math.random()))))
  }

  protected override async work(term: Term): Promise<void> {
    await term.every(100, () => keptForEver.length)
  }
}

class Caller extends Reporting {
  override readonly name = 'caller'
  readonly #setup: Extract<ControllerSetup, { kind: 'caller' }>

  constructor(setup: Extract<ControllerSetup, { kind: 'caller' }>) {
    super()
    this.#setup = setup
  }

  protected override async work(term: Term): Promise<void> {
    const { kubeConfigPath, namespace, lease } = this.#setup
    const api = gated(term, loadKubeConfig({ kubeConfigPath })).makeApiClient(CoordinationV1Api)
    await term.every(20, async () => {
      report({ kind: 'called' })
      await api.readNamespacedLease({ name: lease, namespace })
      report({ kind: 'answered' })
    })
  }
}
