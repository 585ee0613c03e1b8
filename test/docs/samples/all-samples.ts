import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Sample, type SampleFile, samplesOfDocument, samplesOfSource } from './sample.ts'

/** Every sample of the repository: those of all documents except API reports, and those in the docstrings of packages and examples. */
export function allSamples(root: string): readonly Sample[] {
  const documents = filesOf(root, ['*.md', ':!*.api.md'])
  // In a pattern of git, a star also matches slashes.
  const sources = filesOf(root, ['packages/*/src/*.ts', 'examples/*.ts'])
  return [
    ...documents.flatMap(samplesOfDocument),
    ...sources.flatMap((source) => samplesOfSource(source, worldNames())),
  ]
}

function filesOf(root: string, patterns: readonly string[]): readonly SampleFile[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], {
    cwd: root,
    encoding: 'utf8',
  })
  return listed
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** What `world.ts` exports. */
function worldNames(): ReadonlySet<string> {
  const text = readFileSync(join(import.meta.dirname, 'world.ts'), 'utf8')
  const lists = [...text.matchAll(/^export \{ (.*) \} from/gm)].flatMap(([, names = '']) => names.split(', '))
  const declared = [...text.matchAll(/^export declare \w+ (\w+)/gm)].map(([, name = '']) => name)
  return new Set([...lists, ...declared])
}
