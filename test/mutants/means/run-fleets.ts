import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { endWithParent } from '../../../bench/end-with-parent.ts'
import { checkLines } from '../../traces/check-lines.ts'
import type { ChangedFile } from '../changed-file.ts'
import { withDefect } from './planted-environment.ts'
import type { TracedRun } from './traced-runs.ts'

/** What found a defect in fleets. */
export interface FleetsFound {
  /** The fleet, its seed and the broken rule, by the trace alone. */
  readonly traces: string | undefined
  /** The fleet, its seed and the broken oracle of the simulator. */
  readonly simulator: string | undefined
}

/** After this time the runs end: a defect may keep a fleet busy forever. */
const LONGEST_MS = 240_000

/** Runs fleets with a defect until the simulator and a trace have found it, or to the end. */
export async function runFleets(changed: ChangedFile): Promise<FleetsFound> {
  return await withDefect(changed, async (env) => {
    const child = fork(fileURLToPath(new URL('traced-runs.ts', import.meta.url)), [], {
      env,
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    endWithParent(child)
    let found: FleetsFound = { traces: undefined, simulator: undefined }
    const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS)
    child.on('message', (run) => {
      found = judge(run as TracedRun, found)
      if (found.traces !== undefined && found.simulator !== undefined) child.kill('SIGKILL')
      else child.send('next', () => {})
    })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    child.once('error', reject)
    child.once('exit', () => resolve())
    await promise.finally(() => clearTimeout(timer))
    return found
  })
}

function judge({ name, lines, violation, mayRestore = false }: TracedRun, found: FleetsFound): FleetsFound {
  const [finding] = found.traces === undefined ? checkLines(name, lines, { mayRestore }).findings : []
  return {
    traces: found.traces ?? (finding && `${name}: ${finding.rule}`),
    simulator: found.simulator ?? (violation && `${name}: ${violation}`),
  }
}
