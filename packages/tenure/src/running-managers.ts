import { writeSync } from 'node:fs'
import type { Manager } from '@tenure/core'
import { isExitOfTenure } from './exit-code.ts'

/*
 * The running managers of this process, with the leases that each of them competes for. One process listener serves all of them. It
 * exists only while a manager runs.
 */
const running = new Map<Manager, Set<string>>()

/** Reports an exit of the process while the manager leads. Watches until `end` settles. */
export function watchExit(manager: Manager, end: Promise<unknown>): void {
  if (running.has(manager)) return
  if (running.size === 0) process.on('exit', onExit)
  running.set(manager, new Set())
  const forget = (): void => {
    running.delete(manager)
    if (running.size === 0) process.removeListener('exit', onExit)
  }
  end.then(forget, forget)
}

/** Records that a manager competes for a lease. Returns whether another manager of this process already does. */
export function standsTwice(manager: Manager, lease: string): boolean {
  const isTaken = [...running].some(([other, leases]) => other !== manager && leases.has(lease))
  running.get(manager)?.add(lease)
  return isTaken
}

/** Writes to standard error, because an asynchronous logger would lose the line. */
function onExit(code: number): void {
  if (isExitOfTenure()) return
  const candidacies = [...running.keys()].flatMap((manager) => manager.candidacies)
  const held = candidacies.filter((candidacy) => candidacy.remainingMs() > 0).map(({ lease }) => `\`${lease}\``)
  const site = held.length === 0 ? undefined : exitSite()
  if (site === undefined) return
  const line =
    `Tenure: process.exit(${code}) was called${site} while this process leads ${held.join(', ')}: the lease is left to ` +
    'expire. Stop with `await manager.stop()`, which releases it\n'
  try {
    writeSync(2, line)
  } catch {
    // Standard error is closed.
  }
}

/** The call site of `process.exit()`, or '' if it is not known; undefined if something else ends the process. */
function exitSite(): string | undefined {
  const lines = String(new Error().stack).split('\n')
  const index = lines.findIndex((line) => /\b(?:exit|reallyExit) \(/.test(line))
  if (index === -1) return undefined
  const frame = /(?:\(|at )((?:file:|\/|[A-Za-z]:\\)[^()]+:\d+:\d+)/.exec(String(lines[index + 1]))?.[1]
  return frame === undefined ? '' : ` at ${frame}`
}
