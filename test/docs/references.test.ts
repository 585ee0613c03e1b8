import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { brokenReferences } from './references.ts'

const ROOT = join(import.meta.dirname, '../..')
const documents = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '')

const broken = (markdown: string) => brokenReferences({ path: 'docs/page.md', markdown }, ROOT)

describe('A document', () => {
  test.each(documents)('%s names only tests, scripts and files that exist', (path) => {
    const markdown = readFileSync(join(ROOT, path), 'utf8')
    expect(brokenReferences({ path, markdown }, ROOT)).toEqual([])
  })

  test('that names a missing test is reported', () => {
    expect(broken('`test/docs/references.test.ts` "that names a missing test is reported"')).toEqual([])
    expect(broken('`test/docs/references.test.ts` "that nobody wrote"')).toEqual([
      'There is no test "that nobody wrote" in `test/docs/references.test.ts`',
    ])
    expect(broken('`test/docs/gone.test.ts` "that nobody wrote"')).toHaveLength(1)
  })

  test('that names a missing script is reported', () => {
    expect(broken('`npm run verify`')).toEqual([])
    expect(broken('`npm run nothing:such`')).toEqual(['There is no script `npm run nothing:such`'])
  })

  test('that links to a missing file is reported', () => {
    expect(broken('[guide](guide.md) [site](https://example.com)')).toEqual([])
    expect(broken('[guide](gone.md)')).toEqual(['The link to `gone.md` leads nowhere'])
  })

  test('that links to a missing heading is reported', () => {
    expect(broken('# A page\n\n## It is *here*\n\n[here](#it-is-here) [options](guide.md#options)')).toEqual([])
    expect(broken('[gone](#gone)')).toEqual(['The link to `#gone` leads nowhere'])
    expect(broken('[gone](guide.md#gone)')).toEqual(['The link to `guide.md#gone` leads nowhere'])
  })
})
