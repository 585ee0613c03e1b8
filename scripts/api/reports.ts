import { CompilerState, Extractor, ExtractorConfig, type ExtractorLogLevel } from '@microsoft/api-extractor'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** An entry point of a package. */
export interface Entry {
  /** What an import of it is written as. */
  readonly specifier: string
  /** The folder of its package. */
  readonly folder: string
  /** Its built declarations. */
  readonly types: string
}

/**
 * Reports the API of entry points: every exported name with its signature, and the types that a signature mentions.
 * @throws when the declarations of an entry point do not exist or do not compile
 */
export function apiReports(entries: readonly Entry[]): ReadonlyMap<Entry, string> {
  const temp = mkdtempSync(join(tmpdir(), 'tenure-api-'))
  try {
    const configs = entries.map((entry, index) => [entry, configOf(entry, join(temp, String(index)))] as const)
    const [first] = configs
    if (first === undefined) return new Map()
    const compilerState = CompilerState.create(first[1], { additionalEntryPoints: entries.map(({ types }) => types) })
    return new Map(configs.map(([entry, config]) => [entry, apiReport(entry, config, compilerState)]))
  } finally {
    rmSync(temp, { recursive: true })
  }
}

function apiReport({ specifier }: Entry, config: ExtractorConfig, compilerState: CompilerState): string {
  const errors: string[] = []
  Extractor.invoke(config, {
    compilerState,
    localBuild: true,
    messageCallback: (message) => {
      message.handled = true
      if (message.logLevel === ERROR) errors.push(message.text)
    },
  })
  if (errors.length > 0) throw new Error(`Could not read the API of ${specifier}: ${errors.join('; ')}`)
  const [path = ''] = config.reportConfigs.map(({ fileName }) => join(config.reportTempFolder, fileName))
  return tidied(readFileSync(path, 'utf8'), specifier)
}

/** Names the entry point, and leaves out remarks about comments: a test of the site says which are missing, inherited ones counted. */
function tidied(report: string, specifier: string): string {
  return report
    .replace(/^## .*/, `# API of \`${specifier}\``)
    .replaceAll(/^ *\/\/ \(undocumented\)\n/gm, '')
    .replaceAll(/^(\/\/ @.*) \(undocumented\)$/gm, '$1')
    .replace(/\n\/\/ \(No @packageDocumentation comment for this package\)\n/, '')
}

function configOf({ folder, types }: Entry, temp: string): ExtractorConfig {
  const none = { default: { logLevel: NONE } }
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: types,
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions: COMPILER_OPTIONS }, skipLibCheck: true },
      apiReport: {
        enabled: true,
        reportFileName: 'report',
        reportFolder: temp,
        reportTempFolder: temp,
        includeForgottenExports: true,
      },
      messages: { extractorMessageReporting: none, tsdocMessageReporting: none },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(folder, 'package.json'),
  })
}

// The package declares its levels as a `const enum`, which does not exist at run time.
const ERROR = 'error' as ExtractorLogLevel
const NONE = 'none' as ExtractorLogLevel

const COMPILER_OPTIONS = {
  target: 'es2023',
  lib: ['es2024', 'esnext.disposable'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  skipLibCheck: true,
}
