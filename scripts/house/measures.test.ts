import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { countExports } from './exports.ts'
import { functionsOf } from './functions.ts'

test('Functions are measured from their first line to their last', () => {
  const source = `function one() {}
class Two {
  method() {
    return 1
  }
  field = () => 1
}
const three = () => {
  return [1].map((x) => x)
}
`
  expect(functionsOf('a.ts', source)).toEqual([
    { line: 1, lines: 1 },
    { line: 3, lines: 3 },
    { line: 6, lines: 1 },
    { line: 8, lines: 3 },
  ])
})

test('Exports are counted once for a package, with types and without internals', () => {
  const root = mkdtempSync(join(tmpdir(), 'tenure-house-'))
  try {
    const folder = join(root, 'packages/core/src')
    mkdirSync(folder, { recursive: true })
    const entry = (name: string) => ({ '@tenure/source': `./src/${name}.ts` })
    const exports = { '.': entry('index'), './more': entry('more'), './internal': entry('internal') }
    writeFileSync(join(root, 'packages/core/package.json'), JSON.stringify({ name: '@tenure/core', exports }))
    writeFileSync(join(folder, 'index.ts'), "export { a, type B } from './a.ts'\nexport class C {}")
    writeFileSync(join(folder, 'more.ts'), "export { a } from './a.ts'\nexport type { D } from './d.ts'")
    writeFileSync(join(folder, 'internal.ts'), "export { e } from './e.ts'")
    expect(countExports(root)).toBe(4)
  } finally {
    rmSync(root, { recursive: true })
  }
})
