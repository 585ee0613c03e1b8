import { KubeConfig } from '@kubernetes/client-node'
import {
  type Candidacy,
  type CandidacyEvent,
  Controller,
  type LeaseRecord,
  type Lock,
  Manager,
  type Term,
} from '@tenure/core'
import { LeaseLock, type LeaseLockOptions } from '@tenure/kubernetes'
import type { TimingOptions } from '@tenure/core/internal'
import { Journal } from './journal.ts'
import type { Scenario } from './scenario.ts'
import { STEADY } from './timings.ts'

type Update = Lock['update']
type Get = Lock['get']

/** The hooks between an elector and its lock. Each may be replaced at any time. */
export interface Script {
  update: (send: Update, ...request: Parameters<Update>) => ReturnType<Update>
  get: (send: Get, ...request: Parameters<Get>) => ReturnType<Get>
  /** Whether the watch shows nothing. */
  isDeaf: boolean
}

/** The options of a {@link ScriptedReplica}. */
export interface ScriptedReplicaOptions {
  readonly identity: string
  readonly kubeConfig: string
  readonly timing?: TimingOptions
  /** The lock whose way is scripted. @default a LeaseLock */
  readonly createLock?: (options: LeaseLockOptions) => Lock
}

type TimedEvent = CandidacyEvent & { readonly at: number }

/** A sent write of the lease. */
interface SentWrite {
  readonly at: number
  readonly record: LeaseRecord
}

/** A replica in this process with scripted requests. Its only controller waits for the end of its term. */
export class ScriptedReplica implements AsyncDisposable {
  readonly script: Script = {
    update: (send, ...request) => send(...request),
    get: (send, ...request) => send(...request),
    isDeaf: false,
  }
  /** Everything that happened, with the time on the clock of this process. */
  readonly events: Journal<TimedEvent>
  readonly writes: SentWrite[] = []
  readonly terms: Term[] = []
  readonly manager: Manager
  readonly #running: Promise<void>

  constructor(
    { namespace, leaseName: name }: Scenario,
    { identity, kubeConfig: text, timing, createLock = (options) => new LeaseLock(options) }: ScriptedReplicaOptions,
  ) {
    this.events = new Journal(identity)
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(text)
    const scripted = () => this.#scripted(createLock({ kubeConfig, name, namespace, silenceMs: 1000 }))
    this.manager = new Manager({ identity, lease: { name, ...STEADY, ...timing }, createLock: scripted })
    const { terms } = this
    this.manager.register(
      () =>
        new (class extends Controller {
          override readonly name = 'waiting'

          override async run(term: Term): Promise<void> {
            terms.push(term)
            await term.sleep(86_400_000)
          }
        })(),
    )
    this.manager.on((event) => this.events.record({ ...event, at: performance.now() }))
    this.#running = this.manager.start()
  }

  get candidacy(): Candidacy {
    const [candidacy] = this.manager.candidacies
    if (candidacy === undefined) throw new Error('Expected a candidacy')
    return candidacy
  }

  /** The next event of a kind, or the first since `from`. */
  async saw<K extends CandidacyEvent['kind']>(kind: K, from = 0): Promise<Extract<TimedEvent, { kind: K }>> {
    const event = await this.events.waitFor(`\`${kind}\``, (seen) => seen.kind === kind, { from })
    return event as Extract<TimedEvent, { kind: K }>
  }

  all<K extends CandidacyEvent['kind']>(kind: K): Extract<TimedEvent, { kind: K }>[] {
    return this.events.entries.filter((event): event is Extract<TimedEvent, { kind: K }> => event.kind === kind)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.manager.stop()
    await this.#running
  }

  #scripted(lock: Lock): Lock {
    const { script, writes } = this
    const [update, get, watch] = [lock.update.bind(lock), lock.get.bind(lock), lock.watch.bind(lock)]
    lock.update = (...request) => {
      writes.push({ at: performance.now(), record: request[1] })
      return script.update(update, ...request)
    }
    lock.get = (...request) => script.get(get, ...request)
    lock.watch = (observer) =>
      watch({ ...observer, changed: (snapshot) => void (script.isDeaf || observer.changed(snapshot)) })
    return lock
  }
}
