import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeFigures } from '../../bench/figures.ts'
import { checkFiles } from '../../packages/cli/src/check-trace/check-files.ts'
import { describeFinding } from '../../packages/cli/src/check-trace/check-trace-command.ts'
import { TraceFile } from '../../packages/cli/src/check-trace/trace-file.ts'
import { Chore } from '../simulation/controllers.ts'
import { traceSimulation } from './simulated-trace.ts'

const HOUR_MS = 3_600_000

/** How long the check of a day may take, in seconds. */
const MOST_SECONDS = 10

/** Simulates a day of a fleet of ten, with ten minutes of faults in every hour, and checks its files. Fails if that takes too long. */
export async function checkDay(json: string | undefined): Promise<void> {
  const options = {
    controllers: [(world: ConstructorParameters<typeof Chore>[0]) => new Chore(world)],
    replicas: 10,
    durationMs: 24 * HOUR_MS,
    stormMs: HOUR_MS / 6,
    calmMs: (HOUR_MS * 5) / 6,
  }
  const folder = await mkdtemp(join(tmpdir(), 'tenure-day-'))
  try {
    const paths = await writeFiles(folder, await traceSimulation(options, 1))
    const began = performance.now()
    const { findings, events } = checkFiles(paths.map((path) => new TraceFile(path)))
    const seconds = (performance.now() - began) / 1000
    console.log(`a day of a fleet of ten: ${events} steps in ${paths.length} files checked in ${seconds.toFixed(1)} s`)
    for (const finding of findings.slice(0, 20)) console.error(describeFinding(finding))
    await writeFigures(json, { day_events: events, day_seconds: seconds, violations: findings.length })
    if (findings.length > 0 || seconds > MOST_SECONDS) process.exitCode = 1
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Writes the lines of every process into a file of its own. */
async function writeFiles(folder: string, lines: readonly string[]): Promise<readonly string[]> {
  const files = new Map<string, string[]>()
  for (const line of lines) {
    const elector = /^\{"(?:p|elector)":(\d+),/.exec(line)?.[1] ?? ''
    const file = files.get(elector) ?? []
    files.set(elector, file)
    file.push(`${line}\n`)
  }
  const paths = [...files.keys()].map((elector) => join(folder, `${elector}.jsonl`))
  await Promise.all(paths.map((path, index) => writeFile(path, [...files.values()][index] ?? [])))
  return paths
}
