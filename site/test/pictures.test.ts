import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { allPictures } from '../src/pictures/pictures.ts'
import { ROOT } from '../src/stage.ts'

const pictures = await allPictures()
const FOLDER = join(ROOT, 'docs/pictures')

test.each([...pictures])('%s is what its source draws; `npm run docs:write` draws it again', (name, svg) => {
  expect(readFileSync(join(FOLDER, name), 'utf8')).toBe(svg)
})

/** Taken in a browser: `npm run test:ui -- --screenshot docs/pictures/page.png` takes it again. */
const SCREENSHOTS = ['page.png']

test('Every picture has a source', () => {
  expect(readdirSync(FOLDER).toSorted()).toEqual([...pictures.keys(), ...SCREENSHOTS].toSorted())
})
