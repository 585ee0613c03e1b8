import { ApiTransport } from '../client/api-transport.ts'
import type { Connection } from '../client/connection.ts'
import { PodDeathProof } from '../locks/death/pod-death-proof.ts'
import type { DeathProof } from '../locks/death-proof.ts'
import { LeaseClient } from '../locks/lease/lease-client.ts'
import type { ResolvedClientOptions } from './membership-options.ts'

/** What a member reaches the cluster with. */
export interface Links {
  /** Sends all requests and opens all watches, but for those of Pods. */
  readonly connection: Connection
  /** Proves deaths; undefined for no proof. */
  readonly proof: DeathProof | undefined
  /** Begins to look for the container of this process, if there is a proof. */
  start?(): void
  /** Closes everything. Resolves when it is gone. */
  close(): Promise<void>
}

/** Where this process runs, for those who prove its death. */
export interface LinkOptions {
  readonly client: ResolvedClientOptions
  readonly proveDeath: boolean
  readonly namespace: string
  readonly podName: string | undefined
  readonly container: string | undefined
}

/** Opens connections of their own. Does no I/O before the start, or the first request. */
export function openLinks({ client, proveDeath, namespace, podName, container }: LinkOptions): Links {
  const { kubeConfig, userAgent, clock, logger } = client
  const connection = new ApiTransport({ kubeConfig, clock, ...(userAgent !== undefined && { userAgent }) })
  if (!proveDeath) return { connection, proof: undefined, close: () => connection.close() }
  const pods = new LeaseClient(client)
  const pod = podName === undefined ? undefined : { name: podName, namespace }
  const proof = new PodDeathProof({ client: pods, pod, container, logger })
  return {
    connection,
    proof,
    start: () => proof.start(),
    close: async () => {
      await Promise.all([proof.close(), connection.close()])
      await pods.close()
    },
  }
}
