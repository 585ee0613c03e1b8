import type { Extension, LeaseOptions, Logger } from '@tenure/core'
import { ApiTransport, LeaseEvents } from '@tenure/kubernetes/internal'
import type { Cluster } from './cluster.ts'

/** What the extension writes Events with. */
export interface LeaseEventsOptions {
  readonly cluster: Cluster
  readonly identity: string
  readonly logger: Logger
}

/** Writes an Event on each lease when this replica becomes or stops being its leader. */
export function leaseEvents({ cluster, identity, logger }: LeaseEventsOptions): Extension {
  const recorders = new Map<string, LeaseEvents>()
  let transport: ApiTransport | undefined
  const recorderOf = (lease: LeaseOptions, shared: ApiTransport): LeaseEvents =>
    new LeaseEvents({
      kubeConfig: cluster.access,
      transport: shared,
      name: lease.name,
      namespace: cluster.namespaceOf(lease),
      identity,
      logger,
    })
  return {
    name: 'lease-events',
    start: ({ candidacies }) => {
      const shared = new ApiTransport({ kubeConfig: cluster.access })
      transport = shared
      for (const { leaseOptions } of candidacies) recorders.set(leaseOptions.name, recorderOf(leaseOptions, shared))
    },
    onEvent: (event) => {
      if (event.kind === 'term-began') recorders.get(event.lease)?.becameLeader(undefined, event.epoch)
      if (event.kind === 'term-over') recorders.get(event.lease)?.stoppedLeading()
    },
    stop: async () => {
      await Promise.all([...recorders.values()].map((recorder) => recorder.close()))
      recorders.clear()
      await transport?.close()
    },
  }
}
