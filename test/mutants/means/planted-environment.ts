import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { env } from 'node:process'
import type { ChangedFile } from '../changed-file.ts'

const PLANT = new URL('../plant.ts', import.meta.url).href

/** Runs `work` with the environment in which a Node program, and every Node program that it starts, has the defect. */
export async function withDefect<T>(
  changed: ChangedFile,
  work: (planted: NodeJS.ProcessEnv) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-planted-'))
  try {
    const file = join(folder, 'mutant.json')
    await writeFile(file, JSON.stringify(changed))
    return await work({ ...env, NODE_OPTIONS: `--conditions=@tenure/source --import=${PLANT}`, TENURE_MUTANT: file })
  } finally {
    await rm(folder, { recursive: true, maxRetries: 5 })
  }
}
