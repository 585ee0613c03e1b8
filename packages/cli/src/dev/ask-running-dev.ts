import { askDev, connectToDev, devFolder, integerAt } from '@tenure/kubernetes/internal'
import type { Terminal } from '../terminal.ts'
import type { FoundReplica } from './join-socket.ts'

/** Asks every running `tenure dev` of this user for a replica; undefined if none knows its identity. */
export async function replicaOfDev(
  identity: string,
  { env }: Pick<Terminal, 'env'>,
  action: { readonly kill?: boolean } = {},
): Promise<FoundReplica | undefined> {
  const folder = devFolder(env)
  if (folder === undefined) return undefined
  for (const { socket } of await connectToDev(folder).catch(() => [])) {
    if (socket === undefined) continue
    try {
      const answer = await askDev(socket, { about: identity, ...action })
      if (answer['isKnown'] === true) return { opsPort: integerAt(answer, 'opsPort') }
    } catch {
      // It ends, or its version is another one.
    } finally {
      socket.destroy()
    }
  }
  return undefined
}
