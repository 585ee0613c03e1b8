import { env } from 'node:process'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { applyMutant } from './apply-mutant.ts'
import { findMutant } from './find-mutant.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const conditions = ['@tenure/source', 'node', 'import', 'module', 'default']
const mutant = findMutant(env['TENURE_MUTANT'])

// The unit tests with one defect, planted in the sources as they are loaded. No file is written.
export default defineConfig({
  root,
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      transform: (code, id) =>
        mutant !== undefined && id.split('?')[0] === root + mutant.file ? applyMutant(mutant, code) : undefined,
    },
  ],
  // A cache between runs would have no defect or the defect of another mutant.
  test: {
    include: ['packages/*/test/**/*.test.ts'],
    fsModuleCache: false,
    testTimeout: 20_000,
    maxWorkers: 1,
    bail: 1,
  },
})
