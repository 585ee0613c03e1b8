import type { KubeConfig } from '@kubernetes/client-node'
import { LEASE } from '../lease.ts'
import { type LeaseVersion, observedTerms, type ObservedTerm } from './lease-terms.ts'
import type { ReportWrite } from './overlaps.ts'
import { RawWatch, type WatchedChange } from './raw-watch.ts'

/** What an {@link Observer} looks at. */
export interface ObserverOptions {
  readonly kubeConfig: KubeConfig
  readonly namespace: string
  /** Called after every change. */
  readonly onChange: () => void
}

/** Sees every version of the lease and of the janitor's ConfigMaps, with watches of its own. Owns the watches. */
export class Observer {
  readonly leases: LeaseVersion[] = []
  readonly reports: ReportWrite[] = []
  readonly #options: ObserverOptions
  readonly #watches: RawWatch[] = []
  #deleted = 0

  private constructor(options: ObserverOptions) {
    this.#options = options
  }

  /** Resolves once both collections were listed. */
  static async start(options: ObserverOptions): Promise<Observer> {
    const observer = new Observer(options)
    await observer.#watch(`/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`, (change) =>
      observer.#takeLease(change),
    )
    await observer.#watch(`/api/v1/namespaces/${options.namespace}/configmaps`, (change) =>
      observer.#takeConfigMap(change),
    )
    return observer
  }

  /** How many ConfigMaps were deleted. */
  get deleted(): number {
    return this.#deleted
  }

  /** The terms that the lease had. */
  get terms(): readonly ObservedTerm[] {
    return observedTerms(this.leases)
  }

  /** Why the observation is incomplete; undefined when it is complete. */
  get gap(): string | undefined {
    return this.#watches.find(({ gap }) => gap !== undefined)?.gap
  }

  /** Resolves once everything was seen that is there now. */
  async catchUp(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.catchUp()))
  }

  /** Resolves when the watches are closed. */
  async stop(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.stop()))
  }

  async #watch(path: string, take: (change: WatchedChange) => void): Promise<void> {
    const { kubeConfig, onChange } = this.#options
    const watch = await RawWatch.start({
      kubeConfig,
      path,
      onChange: (change) => {
        take(change)
        onChange()
      },
    })
    this.#watches.push(watch)
  }

  #takeLease({ type, object, version }: WatchedChange): void {
    if (object.metadata.name !== LEASE.name) return
    const spec = object['spec'] as { holderIdentity?: string; acquireTime?: string } | undefined
    const holder = type === 'DELETED' ? '' : (spec?.holderIdentity ?? '')
    this.leases.push({ version, holder, acquireTime: spec?.acquireTime })
  }

  #takeConfigMap({ type, object, version }: WatchedChange): void {
    if (type === 'DELETED') this.#deleted += 1
    const data = object['data'] as { epoch?: string } | undefined
    if (type === 'DELETED' || object.metadata.name !== 'janitor-report' || data?.epoch === undefined) return
    this.reports.push({ version, epoch: BigInt(data.epoch) })
  }
}
