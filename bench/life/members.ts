import { type ControlPlane, startPeer } from '@tenure/test-control-plane'
import { NAMESPACE } from '../coordinated/candidate.ts'
import { Pod } from '../coordinated/pod.ts'
import { ReplicaProcess } from '../handover/replica-process.ts'
import type { Members } from './fleet.ts'

/** How long a replica may take to lead. */
const PATIENCE_MS = 120_000

/** Replicas of Tenure with `lifeLock()`, as processes. */
export function tenureMembers(server: ControlPlane, kubeConfigPath: string): Members {
  return {
    now: () => Number(process.hrtime.bigint()) / 1e6,
    // Its container has to become known, and its place on the list of standbys.
    settleMs: 2500,
    lanes: 3,
    create: async (identity, lease) => {
      const pod = await Pod.create(server, identity)
      const options = { name: lease, namespace: NAMESPACE, missingLease: 'create' } as const
      const setup = { identity, lease: options, env: pod.env, forLife: true }
      const replica = new ReplicaProcess(setup, kubeConfigPath)
      await pod.runs()
      return {
        pod,
        follows: async () => void (await replica.told('ready')),
        leads: async () => (await replica.told('term-began')).at,
        kill: async () => {
          replica.end('SIGKILL')
          await replica.exited()
        },
      }
    },
  }
}

/** Replicas of operator-lib with the pauses that it has by default. */
export function operatorLibMembers(server: ControlPlane): Members {
  return {
    now: () => performance.timeOrigin + performance.now(),
    // By then the pauses between its attempts have become as long as they get.
    settleMs: 25_000,
    lanes: 10,
    create: async (identity, lease) => {
      const pod = await Pod.create(server, identity)
      await pod.runs()
      const peer = await startPeer({
        program: 'operator-lib-leader',
        kubeConfig: server.adminKubeConfig(),
        namespace: NAMESPACE,
        lease,
        id: identity,
        retryPeriodMs: 16_000,
      })
      return {
        pod,
        follows: async () => {},
        leads: async () => (await peer.waitFor('started-leading', { timeoutMs: PATIENCE_MS })).t / 1000,
        kill: async () => void (await peer.process.kill()),
      }
    },
  }
}
