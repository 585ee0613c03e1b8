import { defineConfig } from 'vitest/config'

const conditions = ['@tenure/source', 'node', 'import', 'module', 'default']

// oxlint-disable-next-line import/no-default-export -- vitest asks for it
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: { root: import.meta.dirname, include: ['subjects/vitest.spec.ts'], teardownTimeout: 1000 },
})
