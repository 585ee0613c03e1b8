import { readFile } from 'node:fs/promises'
import type { ChangedFile } from '../changed-file.ts'
import type { Mutant } from '../mutants.ts'
import { runTests } from '../run-mutant.ts'
import { canShow, type Means } from './means.ts'
import { ProcessFleets } from './process-fleets.ts'
import { runFleets } from './run-fleets.ts'
import { searchMachine, walkSteps } from './searches.ts'

const ROOT = new URL('../../../', import.meta.url)

/** @throws Error if one of the means finds something in the sources as they are. */
export async function assertSound(means: readonly Means[], mutants: readonly Mutant[]): Promise<void> {
  if (means.includes('unit')) await assertTestsPass([...new Set(mutants.flatMap(({ checks }) => checks))])
  const mutant = mutants.find((one) => canShow('edges', one))
  if (mutant === undefined) return
  const unchanged = { file: mutant.file, code: await readFile(new URL(mutant.file, ROOT), 'utf8') }
  for (const one of means) {
    const found = await look(one, unchanged)
    if (found !== undefined) throw new Error(`Expected ${one} to find nothing without a mutant, but found: ${found}`)
  }
}

async function assertTestsPass(checks: readonly string[]): Promise<void> {
  const { failed, broken, passed } = await runTests(undefined, checks)
  if (failed.length > 0 || broken.length > 0 || (checks.length > 0 && passed === 0))
    throw new Error(`Expected the tests to pass without a mutant: ${[...failed, ...broken].join('; ')}`)
}

async function look(means: Means, unchanged: ChangedFile): Promise<string | undefined> {
  switch (means) {
    case 'edges':
      return await walkSteps(unchanged)
    case 'explorer':
      return await searchMachine(unchanged)
    case 'traces': {
      const { traces, simulator } = await runFleets(unchanged)
      return traces ?? simulator
    }
    case 'processes': {
      await using processes = new ProcessFleets()
      return await processes.find(unchanged)
    }
    default:
      return undefined
  }
}
