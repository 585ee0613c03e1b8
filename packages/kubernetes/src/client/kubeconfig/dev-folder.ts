import { statSync } from 'node:fs'
import { join } from 'node:path'
import { getuid } from 'node:process'

/** What a program says of itself when it joins a running `tenure dev`: one line of JSON. It has joined as long as the connection is open. */
export interface DevGreeting {
  /** The identity of its replica. */
  readonly identity: string
  /** Its process. */
  readonly pid: number
  /** Undefined if the program has no operations port. */
  readonly opsPort?: number
}

/** Asks a running `tenure dev` where a replica is, or to kill it: one line of JSON. */
export interface DevQuestion {
  readonly about: string
  /** Whether to kill it. @default false */
  readonly kill?: boolean
}

/** The folder in which the commands of this user keep their state; undefined if the environment names no home directory. */
export function stateFolder(env: NodeJS.ProcessEnv): string | undefined {
  const state = env['XDG_STATE_HOME'] || (env['HOME'] ? join(env['HOME'], '.local/state') : undefined)
  return state === undefined ? undefined : join(state, 'tenure')
}

/**
 * The folder in which every running `tenure dev` of this user has a socket, named `<PID>.sock`. Only this user may enter it: see
 * {@link isPrivateFolder}. Undefined if the environment names no home directory.
 */
export function devFolder(env: NodeJS.ProcessEnv): string | undefined {
  const state = stateFolder(env)
  return state === undefined ? undefined : join(state, 'dev')
}

/** The PID of the `tenure dev` that a file of the folder belongs to; undefined for any other file. */
export function pidOfSocket(file: string): number | undefined {
  const pid = /^(?<pid>\d{1,10})\.sock$/.exec(file)?.groups?.['pid']
  return pid === undefined ? undefined : Number(pid)
}

/** Whether a path is a folder of this user that no other one may enter. @throws the error of the system if there is none */
export function isPrivateFolder(path: string): boolean {
  const stats = statSync(path)
  return stats.isDirectory() && (stats.mode & 0o077) === 0 && stats.uid === (getuid?.() ?? stats.uid)
}
