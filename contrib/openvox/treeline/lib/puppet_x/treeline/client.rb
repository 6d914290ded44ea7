# Sends requests to Treeline over mutual TLS, with Ruby's own libraries. Every error is a Failure within SECONDS_MAX, which
# says what to check. See README.md, what fails.
require 'json'
require 'net/http'
require 'openssl'
require 'uri'

module PuppetX
  module Treeline
    # Treeline did not answer, or did not answer as expected. A missing key is never a Failure.
    class Failure < StandardError
      # The HTTP status, or nil if there was no answer.
      attr_reader :status

      def initialize(message, status = nil)
        super(message)
        @status = status
      end
    end

    # An answer with its ETag; `body` is parsed, and frozen.
    Answer = Struct.new(:etag, :body, :bytes)

    # The address of Treeline, and the paths of PEM files. Clients with equal values are equal.
    Client = Struct.new(:uri, :ca, :cert, :key) do
      # Returns the record of a node as an Answer; nil if it still has the ETag `etag`.
      def record(node, etag = nil)
        request = Net::HTTP::Get.new(path_of(node))
        request['If-None-Match'] = etag unless etag.nil?
        send_request(request)
      end

      # Returns the record of a node with the source of each value.
      def explained_record(node)
        send_request(Net::HTTP::Get.new("#{path_of(node)}?info=true")).body
      end

      # Confirms to Treeline the outcome of the record with the ETag `digest`.
      def confirm(node, digest, outcome, message)
        request = Net::HTTP::Post.new("#{path_of(node)}applied")
        request['Content-Type'] = 'application/json'
        request.body = JSON.generate('digest' => digest, 'outcome' => outcome, 'message' => message)
        send_request(request)
      end

      private

      # The name becomes a part of the path, so it must be a valid name; and /hiera/all/ contains all records.
      def path_of(node)
        is_name = node.is_a?(String) && node.match?(/\A[A-Za-z0-9][A-Za-z0-9._-]{0,249}\z/)
        raise Failure, "#{node.inspect} cannot be the name of a node" if !is_name || node.include?('..') || node == 'all'

        "/hiera/#{node}/"
      end

      # Uses a thread: no timeout of net/http covers a silent name server, or an answer that comes byte by byte.
      def send_request(request)
        request['Accept'] = 'application/json'
        request['Accept-Encoding'] = 'identity'
        http = connection
        work = Thread.new { exchange(http, request) }
        work.report_on_exception = false
        raise Failure, "Treeline at #{uri} has not answered within #{Client::SECONDS_MAX} s" if work.join(Client::SECONDS_MAX).nil?

        work.value
      ensure
        work&.kill
      end

      def exchange(http, request)
        http.start { http.request(request) { |response| return read_answer(response) } }
      rescue OpenSSL::SSL::SSLError => e
        raise Failure, "There is no trusted connection to Treeline at #{uri}: #{e.message}. #{advice_on(e.message)}"
      rescue SystemCallError, SocketError, IOError, Net::ProtocolError => e
        raise Failure, "Treeline at #{uri} cannot be reached, or refuses the certificate #{cert}: #{e.message}"
      end

      def advice_on(message)
        return "Its certificate has to be signed by #{ca}, and to name that host" if message.match?(/verify failed|hostname/)

        "It has to trust the authority of #{cert}, which has to match the key #{key} and be neither expired nor revoked"
      end

      def connection
        host, port = address
        http = Net::HTTP.new(host, port, nil)
        http.use_ssl = true
        http.min_version = OpenSSL::SSL::TLS1_2_VERSION
        http.verify_mode = OpenSSL::SSL::VERIFY_PEER
        http.verify_hostname = true if http.respond_to?(:verify_hostname=)
        http.cert, *chain = certificates
        http.extra_chain_cert = chain if !chain.empty? && http.respond_to?(:extra_chain_cert=)
        # Without a password here, OpenSSL would ask for the password of a key at the terminal.
        http.key = read('key') { |pem| OpenSSL::PKey.read(pem, '') }
        http.cert_store = authorities
        http.max_retries = 0
        http
      end

      def address
        parsed = URI.parse(uri.to_s)
        is_address = parsed.is_a?(URI::HTTPS) && parsed.userinfo.nil? && ['', '/'].include?(parsed.path) && parsed.query.nil?
        raise Failure, "#{uri.inspect} is not like https://treeline.example:8443" unless is_address

        [parsed.hostname, parsed.port]
      rescue URI::InvalidURIError
        raise Failure, "#{uri.inspect} is not an address"
      end

      def authorities
        read('ca') { OpenSSL::X509::Store.new.tap { |store| store.add_file(ca) } }
      end

      # Returns the client certificate, then those of intermediate authorities.
      def certificates
        read('cert') do |pem|
          blocks = pem.scan(/-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/m)
          raise OpenSSL::X509::CertificateError, 'it has no certificate' if blocks.empty?

          blocks.map { |block| OpenSSL::X509::Certificate.new(block) }
        end
      end

      def read(option)
        path = self[option]
        raise Failure, "#{option} is not the path of a file" unless path.is_a?(String)

        yield File.read(path)
      rescue SystemCallError, OpenSSL::OpenSSLError => e
        raise Failure, "#{path} cannot be used as #{option}: #{e.message}"
      end

      def read_answer(response)
        return nil if response.is_a?(Net::HTTPNotModified)

        text = String.new
        response.read_body do |chunk|
          text << chunk
          raise Failure, "Treeline at #{uri} answers with more than #{Client::BYTES_MAX} bytes" if text.bytesize > Client::BYTES_MAX
        end
        body = JSON.parse(text, freeze: true)
        raise Failure, "Treeline at #{uri} did not answer with an object" unless body.is_a?(Hash)
        raise Failure.new(refusal(response, body), response.code.to_i) unless response.is_a?(Net::HTTPSuccess)

        Answer.new(response['ETag'], body, text.bytesize)
      rescue JSON::ParserError
        raise Failure.new("#{uri} answers #{response.code} without JSON, so it is not Treeline", response.code.to_i)
      end

      def refusal(response, body)
        "Treeline at #{uri} answers #{response.code}: #{body['message']}"
      end
    end

    # Puppet waits at most this long while it compiles.
    Client::SECONDS_MAX = 1.5
    Client::BYTES_MAX = 8 * 1024 * 1024
  end
end
