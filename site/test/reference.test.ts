import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Declarations } from '../src/reference/declarations.ts'
import { referencePages } from '../src/reference/reference.ts'
import { ROOT } from '../src/stage.ts'

const pages = await referencePages(new Declarations())

test.each([...pages])('reference/%s is what the sources say; `npm run docs:write` writes it again', (name, page) => {
  expect(readFileSync(join(ROOT, 'docs/reference', name), 'utf8')).toBe(page)
})
