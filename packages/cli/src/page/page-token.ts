import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stateFolder } from '@tenure/kubernetes/internal'
import type { Terminal } from '../terminal.ts'

/** The name of the file with the token, in the folder for state. */
const FILE = 'page-token'

const TOKEN = /^[\w-]{43}$/

/**
 * The secret that a page shows to its server. It is kept in a file that only its owner can read, so that an open page works again after
 * a restart. If there is no home directory to write into, the secret changes with each start.
 */
export function pageToken({ env }: Pick<Terminal, 'env'>): string {
  const state = stateFolder(env)
  const fresh = randomBytes(32).toString('base64url')
  if (state === undefined) return fresh
  const path = join(state, FILE)
  return readToken(path) ?? (writeToken(path, fresh) ? fresh : (readToken(path) ?? fresh))
}

/** Undefined if there is no such file, or another user could have read or written it. */
function readToken(path: string): string | undefined {
  try {
    const { mode, uid } = statSync(path)
    const isOwn = (mode & 0o077) === 0 && uid === (process.getuid?.() ?? uid)
    const token = readFileSync(path, 'utf8')
    return isOwn && TOKEN.test(token) ? token : undefined
  } catch {
    return undefined
  }
}

/** Whether the token was written. A file that exists is left as it is. */
function writeToken(path: string, token: string): boolean {
  try {
    mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 })
    writeFileSync(path, token, { flag: 'wx', mode: 0o600 })
    return true
  } catch {
    return false
  }
}
