import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sidebarPages } from '../src/sidebar.ts'
import { ROOT } from '../src/stage.ts'

test('The sidebar has every document once', () => {
  const documents = globSync('**/*.md', { cwd: join(ROOT, 'docs') }).map((path) => path.replace(/\.md$/, ''))
  const listed = sidebarPages().filter((page) => !/^(project|reference\/api)\//.test(page))
  expect(listed.toSorted()).toEqual(documents.filter((page) => page !== 'index').toSorted())
})
