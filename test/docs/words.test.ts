import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { avoidedPhrases } from './words.ts'

const ROOT = join(import.meta.dirname, '../..')
/** The list itself and its test name the phrases. */
const SELF = ['test/docs/words.ts', 'test/docs/words.test.ts']
const WRITTEN = /\.(?:md|ts|mts|js|mjs|cjs|sql|tla|go|lua|sh|yaml|yml)$/

function writtenFiles(): readonly string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return listed.split('\n').filter((path) => WRITTEN.test(path) && !SELF.includes(path))
}

describe('Documents, comments and texts', () => {
  test('use none of the phrases to avoid', () => {
    const found = writtenFiles().flatMap((path) =>
      avoidedPhrases(readFileSync(join(ROOT, path), 'utf8')).map((phrase) => `${path} ${phrase}`),
    )
    expect(found).toEqual([])
  })
})

describe('A phrase to avoid', () => {
  test.each([
    ['Whoever leads renews.', 'Whoever'],
    ['The machine is told that the term is empty.', 'is told'],
    ['A follower, or one that stops, waits.', 'one that'],
    ['Its writes were slow of late.', 'of late.'],
    ['Terms that are over, by reason.', 'that are over'],
  ])('is found in a sentence: %s', (sentence, phrase) => {
    expect(avoidedPhrases(sentence)).toMatchObject([expect.stringContaining(`line 1: "${phrase}"`)])
  })

  test('is found across the lines of a comment, with the line where it begins', () => {
    expect(avoidedPhrases('/**\n * It waits for\n * ever.\n */')).toEqual(['line 2: "for ever": forever, or "never …"'])
  })

  test.each([
    'The lease is the one that the replica created.',
    'A world of late answers.',
    'It waits forever.',
    'The renewal took over a second.',
    'It gave the lease over.',
  ])('is not found in plain English: %s', (sentence) => {
    expect(avoidedPhrases(sentence)).toEqual([])
  })
})
