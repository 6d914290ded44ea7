# Computes records with Ruby Hiera 3, for ruby-hiera.ts: `ruby ruby-hiera.rb FILE`, a JSON file with the data folder, the
# hierarchy, the keys and the scope of each server. Prints one line of JSON.
require 'digest'
require 'hiera'
require 'json'

input = JSON.parse(File.read(ARGV[0]))
config = { backends: ['yaml'], hierarchy: input['hierarchy'], yaml: { datadir: input['datadir'] }, logger: 'noop' }
hiera = Hiera.new(config: config)
keys, scopes = input.values_at('keys', 'scopes')
# Every file is read and parsed before it is measured; it stays in Hiera's cache.
scopes.uniq.each { |scope| keys.each { |key| hiera.lookup(key, nil, scope) } }

before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
records = scopes.map { |scope| keys.map { |key| hiera.lookup(key, nil, scope) } }
cpu_seconds = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before
digest = Digest::SHA256.new
records.each { |values| digest << JSON.generate(values) }
puts JSON.generate({ cpuSeconds: cpu_seconds, digest: digest.hexdigest })
