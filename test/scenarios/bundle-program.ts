import { mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { rolldown } from 'rolldown'
import type { ChangedFile } from '../mutants/changed-file.ts'

const ROOT = join(import.meta.dirname, '../..')

/** A program for many processes. */
export interface BundledProgram {
  readonly file: string
  /** Where Node keeps what it has compiled of it. */
  readonly cacheFolder: string
}

/**
 * Bundles a program from the sources: it imports nearly a thousand modules, and reading them takes a processor more than a second, which
 * a suite that starts hundreds of processes does not have. With `changed`, one of its sources has that text.
 */
export async function bundleProgram(entry: string, folder: string, changed?: ChangedFile): Promise<BundledProgram> {
  const cacheFolder = join(folder, 'compile-cache')
  await mkdir(cacheFolder, { recursive: true })
  const load = (id: string) =>
    changed !== undefined && id === join(ROOT, changed.file) ? { code: changed.code, moduleType: 'ts' as const } : null
  await using bundle = await rolldown({
    input: entry,
    platform: 'node',
    resolve: { conditionNames: ['@tenure/source', 'node', 'import'] },
    plugins: [{ name: 'changed source', load }],
    logLevel: 'silent',
  })
  await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name].mjs',
    codeSplitting: {
      groups: [
        // As installed: Tenure tells its own frames from those of the program by this path.
        { name: '@tenure/core/dist/index', test: /\/packages\/core\//, priority: 1 },
        { name: 'libraries', test: /\/(packages|node_modules)\// },
      ],
    },
  })
  return { file: join(folder, `${basename(entry, '.ts')}.mjs`), cacheFolder }
}
