import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Arena } from '../../faults/arena.ts'
import { type Fault, FAULTS, pause } from '../../faults/catalogue.ts'
import { Fleet, NO_FENCES } from '../../faults/fleet.ts'
import { REPLICA } from '../../faults/replica-process.ts'
import { strikeFaults } from '../../faults/trials.ts'
import { bundleProgram, type BundledProgram } from '../../scenarios/bundle-program.ts'
import { BrokenTracesError } from '../../traces/assert-traces.ts'
import type { ChangedFile } from '../changed-file.ts'

/** How the replicas of each fleet reach the API server. Each way has faults of its own. */
const WAYS = ['toxiproxy', 'toxiproxy', 'http', 'http'] as const

const STRIKES: readonly Fault[] = [...FAULTS, pause(0.5), pause(1.2), pause(2.5)]

/** How often each fault strikes. */
const TIMES = 2

/**
 * Runs replicas with a defect as processes on a real API server, while every fault of one fleet strikes their leaders.
 * `tenure check-trace`, which does not have the defect, judges their traces. A fleet without a leader for a minute also shows a defect.
 */
export class ProcessFleets implements AsyncDisposable {
  #arena: Promise<Arena> | undefined

  /** Tells the broken rule, or which fault left no leader. */
  async find(changed: ChangedFile): Promise<string | undefined> {
    this.#arena ??= Arena.start()
    const arena = await this.#arena
    const folder = await mkdtemp(join(arena.folder, 'defect-'))
    try {
      const errors = await errorsOf(arena, await bundleProgram(REPLICA, folder, changed))
      const [finding] = errors.flatMap((error) => (error instanceof BrokenTracesError ? error.findings : []))
      return finding === undefined ? errors[0]?.message.split('\n')[0] : `trace: ${finding.rule}`
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const arena = await this.#arena
    await arena?.[Symbol.asyncDispose]()
  }
}

/** Strikes some fleets. Returns what failed, their traces included. */
async function errorsOf(arena: Arena, program: BundledProgram): Promise<readonly Error[]> {
  const errors: Error[] = []
  const fleets: Fleet[] = []
  const note = (error: unknown): void => void errors.push(error instanceof Error ? error : new Error(String(error)))
  const start = async (way: (typeof WAYS)[number]): Promise<void> => {
    const options = {
      fences: { ...NO_FENCES, gate: true },
      leaseMs: 1000,
      size: 3,
      workMs: 50,
      restMs: 100,
      way,
      program,
    }
    fleets.push(await Fleet.start(arena, options))
  }
  await Promise.all(WAYS.map((way) => start(way).catch(note)))
  await strikeFaults(arena, fleets, { faults: STRIKES, times: TIMES }).catch(note)
  await Promise.all(fleets.map((fleet) => fleet[Symbol.asyncDispose]().catch(note)))
  return errors
}
