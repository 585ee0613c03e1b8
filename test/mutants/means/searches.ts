import { execFile } from 'node:child_process'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { endWithParent } from '../../../bench/end-with-parent.ts'
import type { ChangedFile } from '../changed-file.ts'
import { withDefect } from './planted-environment.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** After this time a search ends: a defect may keep it busy forever. */
const LONGEST_MS = 180_000

/** The exhaustive search of the machine. Tells the broken rule, with the number of steps of its shortest history. */
export async function searchMachine(changed: ChangedFile): Promise<string | undefined> {
  const { stderr } = await run('packages/core/test/explore/main.ts', ['--states', '100000'], changed)
  const found = /^(\S+) is broken: .*\n.*\n((?: *\d+ ms .*\n?)+)/m.exec(stderr)
  return found === null ? undefined : `${found[1]} after ${found[2]?.trimEnd().split('\n').length} steps`
}

/** The walk along every step of the smallest model. Tells how the electors differ from it, or which steps they do not take. */
export async function walkSteps(changed: ChangedFile): Promise<string | undefined> {
  const { stdout } = await run('spec/edges/main.ts', ['--short', '--only', 'one term'], changed)
  if (stdout.includes('DIFFERENCE')) return 'the model does not allow a step'
  const [, covered, all] = /(\d+) of (\d+) steps,/.exec(stdout) ?? []
  return covered === all ? undefined : `${covered} of ${all} steps`
}

interface Output {
  readonly stdout: string
  readonly stderr: string
}

async function run(program: string, args: readonly string[], changed: ChangedFile): Promise<Output> {
  const { promise, resolve } = Promise.withResolvers<Output>()
  await withDefect(changed, async (env) => {
    const options = { cwd: ROOT, env, timeout: LONGEST_MS, killSignal: 'SIGKILL', maxBuffer: 1 << 28 } as const
    endWithParent(execFile(execPath, [program, ...args], options, (_, stdout, stderr) => resolve({ stdout, stderr })))
    await promise
  })
  return await promise
}
