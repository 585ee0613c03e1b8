import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { yamlProblems } from './manifest.ts'
import { Programs } from './programs.ts'
import { fullText, type Sample } from './sample.ts'
import { dockerfileProblems, shellProblems } from './shell.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** What is wrong with samples, by sample. Sound samples are missing. */
export type SampleProblems = ReadonlyMap<Sample, readonly string[]>

type Check = (sample: Sample) => readonly string[]

/** How each language is checked. A block in another language, or in none, is a failure. Programs are compiled all at once. */
const CHECKS: Readonly<Record<string, Check>> = {
  ts: () => [],
  js: () => [],
  sh: shellProblems,
  bash: shellProblems,
  console: shellProblems,
  dockerfile: dockerfileProblems,
  yaml: yamlProblems,
  json: jsonProblems,
  sql: () => [],
  lua: quoteProblems,
  // What programs print.
  text: () => [],
}

/** Compiles, parses and compares all samples. Runs none. */
export function checkSamples(samples: readonly Sample[]): SampleProblems {
  using programs = new Programs(samples.filter(isProgram))
  return checkSamplesWith(programs, samples)
}

/** {@link checkSamples} with programs that are also needed for something else. */
export function checkSamplesWith(programs: Programs, samples: readonly Sample[]): SampleProblems {
  const compiled = programs.checkTypes()
  const problems = samples.map((sample) => [sample, [...problemsOf(sample), ...(compiled.get(sample) ?? [])]] as const)
  return new Map(problems.filter(([, found]) => found.length > 0))
}

/** Whether the compiler takes the sample. */
export function isProgram({ language }: Sample): boolean {
  return language === 'ts' || language === 'js'
}

function problemsOf(sample: Sample): readonly string[] {
  const check = CHECKS[sample.language]
  return check === undefined ? [`Nothing checks blocks in \`${sample.language}\``] : check(sample)
}

function jsonProblems(sample: Sample): readonly string[] {
  try {
    JSON.parse(fullText(sample))
    return []
  } catch (error) {
    return [String(error)]
  }
}

/** A script in the language of a store is part of an example, whose tests run it on the store. */
function quoteProblems(sample: Sample): readonly string[] {
  const text = fullText(sample).trim()
  const sources = globSync('examples/**/*.ts', { cwd: ROOT }).map((path) => readFileSync(join(ROOT, path), 'utf8'))
  return sources.some((source) => source.includes(text)) ? [] : ['No example has this script']
}
