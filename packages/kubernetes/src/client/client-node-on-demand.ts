import { createRequire } from 'node:module'
import type { ClientNode } from '#client-node'

const require = createRequire(import.meta.url)

/** Returns client-node, and loads it at the first call: that takes longer than everything else that an election needs. */
export function clientNode(): ClientNode {
  return require('@kubernetes/client-node')
}

/** As {@link clientNode}, for callers that can wait. Also waits for another import of client-node that is under way. */
export async function importClientNode(): Promise<ClientNode> {
  return import('@kubernetes/client-node')
}
