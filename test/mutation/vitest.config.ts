import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import mutants from '../mutants/vitest.config.ts'
import { withMarks } from './marks.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const source = /^packages\/[\w-]+\/src\/.*\.ts$/

// The unit tests without a defect: the sources note for each test file what it runs of them.
export default defineConfig({
  ...mutants,
  plugins: [
    {
      name: 'marks',
      enforce: 'pre',
      transform: (code, id) => {
        const file = (id.split('?')[0] ?? '').slice(root.length)
        return id.startsWith(root) && source.test(file) ? withMarks(file, code) : undefined
      },
    },
  ],
  test: {
    ...mutants.test,
    maxWorkers: availableParallelism(),
    // Notes take time.
    testTimeout: 120_000,
    // Before the other one loads sources.
    setupFiles: ['test/mutation/write-reached.ts', ...[mutants.test?.setupFiles ?? []].flat()],
  },
})
