// Sends requests with one of Java's clients: Requests.java connection|client BASE…
import java.io.FileInputStream;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

class Requests {
  static final SSLContext TLS = trusting(System.getenv("SSL_CERT_FILE"));
  static final InetSocketAddress PROXY = proxy(System.getenv("PROXY"));

  public static void main(String[] args) throws Exception {
    for (int i = 1; i < args.length; i++) {
      if (args[0].equals("connection")) withConnection(args[i]);
      else withClient(args[i]);
    }
  }

  static void withConnection(String base) throws Exception {
    HttpURLConnection get = open(base + "/get?q=1");
    get.setRequestProperty("X-Own", "1");
    get.getInputStream().readAllBytes();
    HttpURLConnection post = open(base + "/form");
    post.setDoOutput(true);
    post.getOutputStream().write("a=1".getBytes());
    post.getInputStream().readAllBytes();
    HttpURLConnection chunked = open(base + "/chunked");
    chunked.setDoOutput(true);
    chunked.setChunkedStreamingMode(2);
    chunked.getOutputStream().write("onetwo".getBytes());
    chunked.getInputStream().readAllBytes();
  }

  static HttpURLConnection open(String url) throws Exception {
    Proxy way = PROXY == null ? Proxy.NO_PROXY : new Proxy(Proxy.Type.HTTP, PROXY);
    HttpURLConnection connection = (HttpURLConnection) URI.create(url).toURL().openConnection(way);
    if (connection instanceof HttpsURLConnection secure) secure.setSSLSocketFactory(TLS.getSocketFactory());
    return connection;
  }

  static void withClient(String base) throws Exception {
    HttpClient.Builder builder = HttpClient.newBuilder().sslContext(TLS).version(HttpClient.Version.HTTP_1_1);
    if (PROXY != null) builder.proxy(ProxySelector.of(PROXY));
    HttpClient client = builder.build();
    HttpRequest.Builder get = HttpRequest.newBuilder(URI.create(base + "/get?q=1")).header("X-Own", "1");
    client.send(get.build(), BodyHandlers.ofString());
    HttpRequest.Builder post = HttpRequest.newBuilder(URI.create(base + "/form"));
    client.send(post.POST(BodyPublishers.ofString("a=1")).build(), BodyHandlers.ofString());
    HttpRequest.Builder put = HttpRequest.newBuilder(URI.create(base + "/chunked"));
    var body = BodyPublishers.fromPublisher(BodyPublishers.ofString("onetwo"));
    client.send(put.PUT(body).build(), BodyHandlers.ofString());
  }

  static InetSocketAddress proxy(String url) {
    if (url == null || url.isEmpty()) return null;
    URI uri = URI.create(url);
    return new InetSocketAddress(uri.getHost(), uri.getPort());
  }

  static SSLContext trusting(String file) {
    try (InputStream pem = new FileInputStream(file)) {
      KeyStore roots = KeyStore.getInstance(KeyStore.getDefaultType());
      roots.load(null, null);
      int n = 0;
      for (Certificate root : CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
        roots.setCertificateEntry("root" + n++, root);
      }
      TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(roots);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context;
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }
}
