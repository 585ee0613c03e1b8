import { readFileSync } from 'node:fs'
import { argv, env } from 'node:process'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'
import { source } from '../../vitest.config.ts'
import type { ChangedFile } from './changed-file.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const mutant = readMutant(env['TENURE_MUTANT'])

/** The file that is loaded with a defect, from the file that the variable names. */
function readMutant(path: string | undefined): ChangedFile | undefined {
  return path === undefined ? undefined : (JSON.parse(readFileSync(path, 'utf8')) as ChangedFile)
}

/** Runs the test files in the order of the command line: those that are likely to find the defect come first. */
class InOrder extends BaseSequencer {
  override async sort(files: Parameters<BaseSequencer['sort']>[0]): ReturnType<BaseSequencer['sort']> {
    const place = ({ moduleId }: { readonly moduleId: string }): number => argv.indexOf(moduleId.slice(root.length))
    return files.toSorted((a, b) => place(a) - place(b))
  }
}

// The unit tests with one defect, planted in the sources as they are loaded. No file is written.
export default defineConfig({
  root,
  ...source,
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      transform: (_, id) => (mutant !== undefined && id.split('?')[0] === root + mutant.file ? mutant.code : undefined),
    },
  ],
  // A cache between runs would have no defect or the defect of another mutant.
  test: {
    include: ['packages/*/test/**/*.test.ts'],
    setupFiles: ['packages/testing/test/watch-leaks.ts'],
    sequence: { sequencer: InOrder },
    fsModuleCache: false,
    testTimeout: 60_000,
    maxWorkers: 1,
    bail: 1,
  },
})
