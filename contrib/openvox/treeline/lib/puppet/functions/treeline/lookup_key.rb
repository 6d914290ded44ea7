require_relative '../../../puppet_x/treeline/catalog_records'

# A Hiera 5 backend: looks up keys in the record of the node whose catalog is compiled.
#
#     hierarchy:
#       - name: Treeline
#         lookup_key: treeline::lookup_key
#         uri: https://treeline.example:8443
#
# README.md of the module lists its options, and what fails. A key that is not in the record is looked up in the next level.
Puppet::Functions.create_function(:'treeline::lookup_key') do
  dispatch :lookup_key do
    param 'Variant[String, Numeric]', :key
    param 'Hash[String, Any]', :options
    param 'Puppet::LookupContext', :context
  end

  def lookup_key(key, options, context)
    client = client_of(options)
    catalog = PuppetX::Treeline::CatalogRecords.adapt(closure_scope.compiler)
    record = catalog.record(client)
    context.explain { explain(context, explanation(catalog, client, key)) }
    context.not_found unless record.key?(key)
    context.interpolate(record[key])
  end

  # The defaults are Puppet's own certificate, key and authority.
  def client_of(options)
    unknown = options.keys - %w[uri ca cert key]
    raise PuppetX::Treeline::Failure, "unknown options in hiera.yaml: #{unknown.join(', ')}" unless unknown.empty?

    PuppetX::Treeline::Client.new(
      options['uri'],
      options.fetch('ca') { Puppet[:localcacert] },
      options.fetch('cert') { Puppet[:hostcert] },
      options.fetch('key') { Puppet[:hostprivkey] }
    )
  end

  # Puppet indents only the first line of a text, so each line is a text of its own. The caller's block returns the last one.
  def explain(context, lines)
    lines[0...-1].each { |line| context.explain { line } }
    lines.last
  end

  def explanation(catalog, client, key)
    explained = catalog.explained_record(client)[key]
    return ["Treeline: the record of #{catalog.node} has no key #{key}"] if explained.nil?

    verb = explained['merge'] == 'unique' ? 'joins' : 'overrides'
    others = explained['overrides'].map { |layer| "  #{verb} #{place(layer)}: #{layer['value'].to_json}" }
    ["Treeline: #{place(explained)} sets #{key} for #{catalog.node} (merge: #{explained['merge']})", *others]
  end

  def place(source)
    file = source['file'].nil? ? 'computed, or reported by its provider' : [source['file'], source['line']].compact.join(':')
    "#{source['type']} #{source['name']} (#{file})"
  end
end
