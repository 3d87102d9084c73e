// Fetches each URL with HttpURLConnection; one JSON line per URL.
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.zip.GZIPInputStream;

class WithUrlConnection {
  public static void main(String[] urls) throws Exception {
    for (String url : urls) report(url, (HttpURLConnection) new URL(url).openConnection());
  }

  static void report(String url, HttpURLConnection connection) throws Exception {
    int status = connection.getResponseCode();
    InputStream body = connection.getInputStream();
    if ("gzip".equals(connection.getContentEncoding())) body = new GZIPInputStream(body);
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(body.readAllBytes());
    String sha256 = HexFormat.of().formatHex(digest);
    System.out.printf("{\"url\":\"%s\",\"status\":%d,\"sha256\":\"%s\"}%n", url, status, sha256);
  }
}
