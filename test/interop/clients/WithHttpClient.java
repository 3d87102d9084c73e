// Fetches all URLs at once with java.net.http.HttpClient; one JSON line per URL.
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.zip.GZIPInputStream;

class WithHttpClient {
  public static void main(String[] urls) throws Exception {
    HttpClient client = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();
    List<CompletableFuture<HttpResponse<byte[]>>> replies = new ArrayList<>();
    for (String url : urls) {
      HttpRequest request = HttpRequest.newBuilder(URI.create(url)).build();
      replies.add(client.sendAsync(request, BodyHandlers.ofByteArray()));
    }
    for (int i = 0; i < urls.length; i++) report(urls[i], replies.get(i).join());
  }

  static void report(String url, HttpResponse<byte[]> reply) throws Exception {
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(decoded(reply));
    String sha256 = HexFormat.of().formatHex(digest);
    System.out.printf("{\"url\":\"%s\",\"status\":%d,\"sha256\":\"%s\"}%n", url, reply.statusCode(), sha256);
  }

  static byte[] decoded(HttpResponse<byte[]> reply) throws IOException {
    boolean isGzip = reply.headers().firstValue("Content-Encoding").orElse("").equals("gzip");
    if (!isGzip) return reply.body();
    return new GZIPInputStream(new ByteArrayInputStream(reply.body())).readAllBytes();
  }
}
