import { writeSync } from 'node:fs'
import type { Manager } from '@tenure/core'
import { isExitOfTenure } from './exit-code.ts'

/*
 * What the managers of this process have to know of each other: the leases that each of them stands for. One listener of the process
 * serves all of them, and is there only while one of them runs.
 */
const running = new Map<Manager, Set<string>>()

/** Looks out, until `end` settles, for an exit of the program while the manager leads. */
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

/** Notes that a manager stands for a lease. Returns whether another manager of this process does so already. */
export function standsTwice(manager: Manager, lease: string): boolean {
  const isTaken = [...running].some(([other, leases]) => other !== manager && leases.has(lease))
  running.get(manager)?.add(lease)
  return isTaken
}

/** Writes to the standard error: an asynchronous logger would lose the line. */
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
    // Nobody reads the standard error any more.
  }
}

/** From where `process.exit()` was called, as far as that is known; undefined where something else ends the process. */
function exitSite(): string | undefined {
  const lines = (new Error('exit').stack ?? '').split('\n')
  const index = lines.findIndex((line) => /\b(?:exit|reallyExit) \(/.test(line))
  if (index < 0) return undefined
  const frame = /\(?((?:file:|\/|[A-Za-z]:)[^()]+:\d+:\d+)\)?$/.exec(lines[index + 1] ?? '')?.[1]
  return frame === undefined ? '' : ` at ${frame}`
}
