import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { apiPages } from '../src/reference/api.ts'
import { Declarations } from '../src/reference/declarations.ts'
import { SIDEBAR, sidebarPages } from '../src/sidebar.ts'
import { ROOT } from '../src/stage.ts'

test('The sidebar has every document once', () => {
  const documents = globSync('**/*.md', { cwd: join(ROOT, 'docs') }).map((path) => path.replace(/\.md$/, ''))
  const listed = sidebarPages().filter((page) => !/^(project|reference\/api)\//.test(page))
  expect(listed.toSorted()).toEqual(documents.filter((page) => page !== 'index').toSorted())
})

test('The sidebar has the API page of every entry point, in the order of the index and under its name', () => {
  const pages = apiPages(new Declarations()).map(({ path, markdown }) => [headingOf(markdown), path])
  const group = SIDEBAR.find(({ text }) => text === 'API')
  const [index, ...entries] = group?.items.map(({ text, link }) => [text, `${link.slice(1)}.md`]) ?? []
  expect([['API', index?.[1]], ...entries]).toEqual(pages)
})

function headingOf(markdown: string): string | undefined {
  return /^# (.*)/.exec(markdown)?.[1]
}
