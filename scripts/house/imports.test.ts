import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { findCycles, hashOfImports, readImportGraph } from './import-graph.ts'
import { findUpwardImports } from './layers.ts'

const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

/** The root of a new project with these files. */
function projectOf(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'tenure-house-'))
  folders.push(root)
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), source)
  }
  return root
}

/** The graph of a project with these files. */
function graphOf(files: Readonly<Record<string, string>>) {
  return readImportGraph(projectOf(files))
}

function manifest(name: string): string {
  return JSON.stringify({
    name,
    exports: { '.': { '@tenure/source': './src/index.ts' }, './package.json': './package.json' },
  })
}

const A = 'packages/core/src/term/a.ts'
const B = 'packages/core/src/term/b.ts'
const C = 'packages/core/src/term/c.ts'

describe('Import cycles', () => {
  test.each([
    ['types', "import type { B } from './b.ts'"],
    ['values', "import { b } from './b.ts'"],
    ['exports', "export * from './b.ts'"],
    ['dynamic imports', "await import('./b.ts')"],
  ])('are found through %s', (_, source) => {
    const graph = graphOf({ [A]: source, [B]: "import './c.ts'", [C]: "import './a.ts'" })
    expect(findCycles(graph).map((files) => [...files].sort())).toEqual([[A, B, C]])
  })

  test('are not seen where two ways lead to one file', () => {
    const graph = graphOf({ [A]: "import './b.ts'\nimport './c.ts'", [B]: "import './c.ts'", [C]: '' })
    expect(findCycles(graph)).toEqual([])
  })
})

describe('The direction of imports', () => {
  test.each([
    ['packages/core/src/term/a.ts', "import '../manager/manager.ts'", 'packages/core/src/manager/manager.ts'],
    ['packages/core/src/options/a.ts', "import '../lock/lock.ts'", 'packages/core/src/lock/lock.ts'],
    ['packages/core/src/term/a.ts', "import '../index.ts'", 'packages/core/src/index.ts'],
    ['packages/core/src/lock/a.ts', "import '../health/b.ts'", 'packages/core/src/health/b.ts'],
    ['packages/kubernetes/src/a.ts', "import '@tenure/api-server'", 'packages/api-server/src/index.ts'],
    ['packages/api-server/src/index.ts', "import '@tenure/simulator'", 'packages/simulator/src/index.ts'],
  ])('%s must not %s', (file, source, imports) => {
    const graph = graphOf({
      'packages/api-server/package.json': manifest('@tenure/api-server'),
      'packages/simulator/package.json': manifest('@tenure/simulator'),
      [file]: source,
    })
    expect(findUpwardImports(graph)).toEqual([{ file, imports }])
  })

  test.each([
    ['packages/core/src/manager/a.ts', "import '../term/term.ts'"],
    ['packages/core/src/options/a.ts', "import '../text-of.ts'"],
    ['packages/core/src/index.ts', "import './manager/manager.ts'"],
    ['packages/cli/src/a.ts', "import '@tenure/api-server'"],
    ['packages/simulator/src/a.ts', "import '@tenure/api-server'"],
  ])('%s may %s', (file, source) => {
    const graph = graphOf({ 'packages/api-server/package.json': manifest('@tenure/api-server'), [file]: source })
    expect(findUpwardImports(graph)).toEqual([])
  })
})

describe('The hash of a module and its imports', () => {
  const D = 'packages/ops/src/d.ts'
  const files = {
    'packages/core/package.json': manifest('@tenure/core'),
    'packages/core/src/index.ts': "export * from './term/a.ts'",
    [A]: "import './b.ts'",
    [B]: '',
    [C]: '',
    [D]: "import '@tenure/core'",
  }
  const hashOf = (changed: Readonly<Record<string, string>> = {}): string =>
    hashOfImports(projectOf({ ...files, ...changed }), D)

  test('is the same for the same files', () => expect(hashOf()).toBe(hashOf()))

  test.each([
    ['the module', { [D]: "import '@tenure/core' // changed" }],
    ['what it imports from another package', { [B]: 'changed' }],
  ])('changes with %s', (_, changed) => expect(hashOf(changed)).not.toBe(hashOf()))

  test('does not change with other files', () => expect(hashOf({ [C]: 'changed' })).toBe(hashOf()))
})
