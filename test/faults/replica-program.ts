import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import type { ChangedFile } from '../mutants/changed-file.ts'

const ROOT = join(import.meta.dirname, '../..')

/** What starts a replica. */
export interface ReplicaProgram {
  readonly file: string
  /** Where Node keeps what it has compiled of it. */
  readonly cacheFolder: string
}

/**
 * Bundles the program of a replica: the client of Kubernetes consists of a thousand files, and reading them
 * takes a processor a second, which a harness that starts hundreds of processes does not have. With `changed`, one of its sources has that
 * text.
 */
export async function bundleReplica(folder: string, changed?: ChangedFile): Promise<ReplicaProgram> {
  const cacheFolder = join(folder, 'compile-cache')
  await mkdir(cacheFolder)
  const load = (id: string) =>
    changed !== undefined && id === join(ROOT, changed.file) ? { code: changed.code, moduleType: 'ts' as const } : null
  await using bundle = await rolldown({
    input: join(import.meta.dirname, 'replica.ts'),
    platform: 'node',
    resolve: { conditionNames: ['@tenure/source', 'node', 'import'] },
    plugins: [{ name: 'changed source', load }],
    logLevel: 'silent',
  })
  await bundle.write({ dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' })
  return { file: join(folder, 'replica.mjs'), cacheFolder }
}
