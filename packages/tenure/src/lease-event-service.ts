import type { LeaseOptions, Logger, Manager, Service } from '@tenure/core'
import { ApiTransport, LeaseEvents } from '@tenure/kubernetes'
import type { Cluster } from './cluster.ts'

/** What the service writes Events with, and about what. */
export interface LeaseEventServiceOptions {
  readonly cluster: Cluster
  readonly manager: () => Manager
  readonly identity: string
  readonly logger: Logger
}

/** Writes an Event on each lease when this replica becomes or stops being its leader. */
export function leaseEventService(options: LeaseEventServiceOptions): Service {
  const { cluster, identity, logger } = options
  const recorders = new Map<string, LeaseEvents>()
  let transport: ApiTransport | undefined
  let unsubscribe = () => {}
  const recorderOf = (lease: LeaseOptions): LeaseEvents =>
    new LeaseEvents({
      kubeConfig: cluster.kubeConfig,
      ...(transport !== undefined && { transport }),
      name: lease.name,
      namespace: cluster.namespaceOf(lease),
      identity,
      logger,
    })
  return {
    name: 'lease-events',
    start: async () => {
      const manager = options.manager()
      transport = new ApiTransport({ kubeConfig: cluster.kubeConfig })
      for (const { leaseOptions } of manager.candidacies) recorders.set(leaseOptions.name, recorderOf(leaseOptions))
      unsubscribe = manager.on((event) => {
        if (event.kind === 'term-began') recorders.get(event.lease)?.becameLeader()
        if (event.kind === 'term-over') recorders.get(event.lease)?.stoppedLeading()
      })
    },
    stop: async () => {
      unsubscribe()
      await Promise.all([...recorders.values()].map((recorder) => recorder.close()))
      recorders.clear()
      await transport?.close()
    },
  }
}
