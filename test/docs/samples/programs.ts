import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fullText, lineInFile, type Sample, WORLD } from './sample.ts'

const ROOT = join(import.meta.dirname, '../../..')
/** Within the project, so that imports find the packages; ignored by git, lint and format. */
const CACHE = join(ROOT, 'test/docs/.cache')

/** Samples in TypeScript or JavaScript, each in a file of its own. Remove the folder after use. */
export class Programs {
  readonly folder: string
  readonly #files: ReadonlyMap<string, Sample>

  constructor(samples: readonly Sample[]) {
    mkdirSync(CACHE, { recursive: true })
    this.folder = mkdtempSync(join(CACHE, 'samples-'))
    this.#files = new Map(samples.map((sample) => [fileName(sample), sample]))
    for (const [name, sample] of this.#files) writeFileSync(join(this.folder, name), this.#textOf(sample))
  }

  fileOf(sample: Sample): string {
    return join(this.folder, fileName(sample))
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }

  /** Compiles all programs at once, against the sources of the packages. Returns what is wrong with each. */
  checkTypes(): ReadonlyMap<Sample, readonly string[]> {
    if (this.#files.size === 0) return new Map()
    const base = relative(this.folder, join(ROOT, 'tsconfig.json'))
    const compilerOptions = { allowJs: true, checkJs: true }
    const options = { extends: base, compilerOptions, include: ['*.ts', '*.js'], exclude: [] }
    writeFileSync(join(this.folder, 'tsconfig.json'), JSON.stringify(options))
    const tsc = join(ROOT, 'node_modules/.bin/tsc')
    const { stdout } = spawnSync(tsc, ['-p', this.folder, '--pretty', 'false'], { cwd: this.folder, encoding: 'utf8' })
    const problems = Map.groupBy(this.#parse(stdout), ({ sample }) => sample)
    return new Map([...problems].map(([sample, found]) => [sample, found.map(({ text }) => text)]))
  }

  /** The errors that the compiler prints, with the indented lines that explain them. */
  #parse(output: string): readonly { sample: Sample; text: string }[] {
    const errors = output
      .trim()
      .split(/\n(?=\S)/)
      .filter((error) => error !== '')
    return errors.map((error) => {
      const [, name = '', line, text] = /^([^\s(]+)\((\d+),\d+\): error (.*)$/s.exec(error) ?? []
      const sample = this.#files.get(name)
      if (sample === undefined) throw new Error(`The compiler failed outside of the samples: ${error}`)
      return { sample, text: `${sample.file}:${lineInFile(sample, Number(line))}: ${text?.replaceAll(/\s+/g, ' ')}` }
    })
  }

  #textOf(sample: Sample): string {
    const folder = join(ROOT, dirname(sample.file))
    return fullText(sample).replaceAll(/ from '(\.{1,2}\/[^']+|#world)'/g, (whole, target: string) => {
      const file = target === WORLD ? join(import.meta.dirname, 'world.ts') : join(folder, target)
      return existsSync(file) ? ` from '${relative(this.folder, file)}'` : whole
    })
  }
}

function fileName({ file, line, language }: Sample): string {
  return `${file.replaceAll(/[^\w]+/g, '-')}-${line}.${language}`
}
