import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The exit codes of env(1), of shells and of nohup(1) for a program that cannot be started. */
export const CANNOT_START = { notExecutable: 126, notFound: 127 } as const

/** Where `execvp()` looks without `PATH`. */
const DEFAULT_PATH = '/bin:/usr/bin'

/**
 * Why a program could not be started: an exit code of {@link CANNOT_START}. Undefined if it could. Looks for the program as `execvp()` does.
 */
export function whyNotStartable(file: string, path: string = DEFAULT_PATH): number | undefined {
  const places = file.includes('/') ? [file] : path.split(delimiter).map((folder) => join(folder || '.', file))
  const found = places.filter(isFile)
  if (found.length === 0) return CANNOT_START.notFound
  return found.some(isExecutable) ? undefined : CANNOT_START.notExecutable
}

const CODES: ReadonlyMap<string, number> = new Map([
  ['ENOENT', CANNOT_START.notFound],
  ['EACCES', CANNOT_START.notExecutable],
  ['ENOEXEC', CANNOT_START.notExecutable],
])

/** The exit code for an error of `spawn()`; undefined if another attempt may succeed, as when there are too many processes. */
export function codeOfSpawnError(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined
  const { syscall = '', code = '' }: NodeJS.ErrnoException = error
  return syscall.startsWith('spawn') ? CODES.get(code) : undefined
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
