import { chownSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The user `nobody`, for servers that refuse to run as root. Undefined where this process is not root. */
export const UNPRIVILEGED: { readonly uid: number; readonly gid: number } | undefined =
  process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined

/** A folder that the server may write to; disposing it removes it. */
export async function createTemporaryFolder(
  name: string,
): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), `tenure-${name}-`))
  if (UNPRIVILEGED !== undefined) chownSync(path, UNPRIVILEGED.uid, UNPRIVILEGED.gid)
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) }
}
